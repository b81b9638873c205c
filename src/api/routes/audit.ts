import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { AUDIT_ACTIONS, type AuditEntry } from '../../contracts/audit.ts';
import { hasTenant } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { pageQuery } from './pages.ts';
import { refusals, valuesOf } from './schemas.ts';

const entry = valuesOf<AuditEntry>(
  z
    .looseObject({
      auditId: z.string(),
      at: z.string(),
      actor: z
        .object({ kind: z.enum(['key', 'oidc', 'login', 'link', 'conversation']), id: z.string() })
        .meta({ description: 'Who: a key, the user of a token, a user of the command line, or the conversation itself' }),
      tenantId: z.string().optional().meta({ description: 'Absent: of the whole installation' }),
      action: z.string().meta({ description: `Such as ${AUDIT_ACTIONS.join(', ')}`, example: 'key.create' }),
      target: z.string().meta({ description: 'Id of what was changed' }),
      details: z.looseObject({}),
      requestId: z.string().optional().meta({ description: 'The id of the request, as in the log of the service' }),
    })
    .meta({ id: 'AuditEntry' }),
);
const text = z.string().max(300).optional();

/** Who changed what. A key of a tenant sees the rows of its tenant. */
export function addAuditRoutes(api: Api, { longshore }: RouteParts): void {
  api.get(
    '/v1/audit',
    {
      config: { scope: 'admin' },
      schema: {
        summary: 'Read the audit log, newest first',
        tags: ['operators'],
        querystring: z.strictObject({
          actor: text.meta({ description: 'Id of who acted' }),
          action: text.meta({ example: 'approval.answer' }),
          target: text.meta({ description: 'Id of what was changed, such as a call, a conversation or a key' }),
          tenant: text.meta({ description: "With an operator's key only" }),
          since: text.meta({ description: 'Only rows of this time or later; or an age', example: '24h' }),
          ...pageQuery,
        }),
        response: { 200: z.object({ entries: z.array(entry), next: z.string().optional().meta({ description: 'Absent on the last page' }) }), ...refusals },
      },
    },
    async ({ caller, query }) => {
      // Another tenant's rows are none that this caller has.
      if (query.tenant !== undefined && !hasTenant(caller, query.tenant)) return { entries: [] };
      return longshore.audit.list(withoutUndefined({ ...query, tenant: caller.tenantId ?? query.tenant }));
    },
  );
}
