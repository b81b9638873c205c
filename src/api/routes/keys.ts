import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { SCOPES, type ApiKey } from '../../contracts/api-key.ts';
import { failure } from '../../contracts/errors.ts';
import { tenantFor } from '../auth/tenant-for.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from './schemas.ts';

const ADMIN = { scope: 'admin' } as const;
const key = z
  .object({
    keyId: z.string(),
    tenantId: z.string().exactOptional().meta({ description: "Absent: an operator's key, which sees all tenants" }),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    createdAt: z.string(),
    expiresAt: z.string().exactOptional(),
    revokedAt: z.string().exactOptional(),
    lastUsedAt: z.string().exactOptional(),
  })
  .meta({ id: 'Key' }) satisfies z.ZodType<ApiKey>;

/** Keys of the API. A key of a tenant manages those of its tenant only, and makes none that may do more. */
export function addKeyRoutes(api: Api, { longshore, store }: RouteParts): void {
  api.post(
    '/v1/keys',
    {
      config: ADMIN,
      schema: {
        summary: 'Make a key',
        tags: ['keys'],
        body: z.strictObject({
          name: z.string().meta({ description: 'For whom or what it is', example: 'billing' }),
          scopes: z.array(z.enum(SCOPES)).min(1),
          tenant: z.string().optional().meta({ description: 'The only tenant that it sees' }),
          expiresIn: z.union([z.string(), z.number()]).optional().meta({ description: 'Milliseconds, or a text such as 90d', example: '90d' }),
        }),
        response: { 201: key.extend({ text: z.string().meta({ description: 'What callers send; shown only now' }) }), ...refusals },
      },
    },
    async ({ caller, body }, reply) => {
      return reply.code(201).send(await longshore.keys.create(withoutUndefined({ ...body, tenant: tenantFor(caller, body.tenant) })));
    },
  );
  api.get(
    '/v1/keys',
    { config: ADMIN, schema: { summary: 'List the keys', tags: ['keys'], response: { 200: z.object({ keys: z.array(key) }), ...refusals } } },
    async ({ caller }) => ({ keys: await longshore.keys.list(caller.tenantId) }),
  );
  api.delete(
    '/v1/keys/:keyId',
    {
      config: ADMIN,
      schema: { summary: 'End a key at once', tags: ['keys'], params: z.object({ keyId: z.string() }), response: { 200: key, ...refusals } },
    },
    async ({ caller, params: { keyId } }) => {
      const revoked = await store.apiKeys.revoke(keyId, caller.tenantId);
      if (!revoked) throw failure('KEY_NOT_FOUND', { keyId });
      return revoked;
    },
  );
}
