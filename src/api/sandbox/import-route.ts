import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { ownUser, tenantFor } from '../auth/tenant-for.ts';
import { repeatableIds } from '../http/idempotency.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationId, idempotencyHeader, refusals } from '../routes/schemas.ts';
import { receiveBody } from './receive-body.ts';

const report = z
  .object({
    from: z.object({ conversationId, exportedAt: z.string() }),
    entries: z.int(),
    events: z.int(),
    attachments: z.int(),
    files: z.object({ count: z.int(), bytes: z.number().optional(), why: z.string().optional() }),
    leftOut: z.array(z.string()),
  })
  .meta({ id: 'ImportReport' });

const PATH = '/v1/conversations/import';

export function addImportRoute(api: Api, parts: RouteParts): void {
  void api.register(async (scope) => {
    // The body is read as it comes.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    addImport(scope as unknown as Api, parts);
  });
}

function addImport(api: Api, parts: RouteParts): void {
  api.post(
    PATH,
    {
      config: {
        scope: 'conversations:import',
        repeated: 'ids',
        streamsBody: true,
        takesBytes: true,
        errors: [
          'IMPORT_INVALID',
          'IMPORT_REPLACED',
          'AGENT_NOT_FOUND',
          'CONVERSATION_EXISTS',
          'CONVERSATION_REMOVING',
          'ATTACHMENTS_FULL',
          'HOST_AWAY',
          'BODY_TOO_LARGE',
        ],
      },
      schema: {
        summary: 'Import a conversation',
        description:
          'The body is the `.tar.gz` of an export. The conversation exists when all of it was read, with a transcript that is believed as it is; nothing runs again. Only the same archive with the same `conversationId`, or the same `Idempotency-Key`, may be sent again.',
        tags: ['conversations'],
        headers: z.looseObject(idempotencyHeader),
        querystring: z.strictObject({
          agent: z.string().optional().meta({ description: 'Default: the agent with the id that the archive names' }),
          user: z.string().optional().meta({ description: 'For whom. Default: the user that the archive names' }),
          tenant: z.string().optional().meta({ description: "With an operator's key only; other keys have a tenant of their own" }),
          conversationId: z.string().optional().meta({ description: 'An id of your own; generated when absent' }),
          files: z.enum(['true', 'false']).optional().meta({ description: '`false`: without the files of the sandbox. Default `true`' }),
        }),
        response: { 201: z.object({ conversationId, report }), ...refusals },
      },
    },
    async ({ caller, headers, query: { files = 'true', ...named }, raw }, reply) => {
      const user = ownUser(caller, named.user);
      const tenant = tenantFor(caller, named.tenant);
      // The body is not compared: another archive is refused, since the conversation exists.
      const ids = named.conversationId === undefined ? repeatableIds(parts, caller, headers, 'imports') : undefined;
      const options = withoutUndefined({ ...named, user, tenant, files: files === 'true', ...(ids && { conversationId: ids.id('conv') }) });
      const { chat, report: made } = await parts.longshore.import(receiveBody(raw), options);
      return reply
        .code(201)
        .header('location', `/v1/conversations/${encodeURIComponent(chat.id)}`)
        .send({ conversationId: chat.id, report: made });
    },
  );
}
