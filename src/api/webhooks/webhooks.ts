import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import type { Webhook } from '../../contracts/webhook.ts';
import type { Caller } from '../auth/caller.ts';
import { tenantFor } from '../auth/tenant-for.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals } from '../routes/schemas.ts';
import { agents, params, READ, READ_ONE, TAGS, types, url, webhook, withSecret, WRITE, WRITE_ONE } from './webhook-schemas.ts';

/** Endpoints that events are sent to. A caller sees those of its tenant. */
export function addWebhookRoutes(api: Api, parts: RouteParts): void {
  addViews(api, parts);
  addCreate(api, parts);
  addChanges(api, parts);
}

/** The webhook, if it is one of the caller's. @throws WEBHOOK_NOT_FOUND for another tenant's too; SCOPE_MISSING */
export async function webhookOf({ store }: Pick<RouteParts, 'store'>, caller: Caller, webhookId: string): Promise<Webhook> {
  const found = await store.webhooks.get(webhookId, tenantOf(caller));
  if (found) return found;
  throw failure('WEBHOOK_NOT_FOUND', { webhookId });
}

/**
 * The tenant whose webhooks the caller has; undefined: all. A webhook takes what all users of its tenant say, so who speaks for one user has none.
 * @throws SCOPE_MISSING
 */
function tenantOf({ tenantId, userId }: Caller): string | undefined {
  if (userId === undefined) return tenantId;
  throw failure('SCOPE_MISSING', { scope: 'admin' });
}

function addViews(api: Api, parts: RouteParts): void {
  api.get(
    '/v1/webhooks',
    { config: READ, schema: { summary: 'List the webhooks', tags: TAGS, response: { 200: z.object({ webhooks: z.array(webhook) }), ...refusals } } },
    async ({ caller }) => ({ webhooks: await parts.longshore.webhooks.list(tenantOf(caller)) }),
  );
  api.get(
    '/v1/webhooks/:id',
    { config: READ_ONE, schema: { summary: 'Read a webhook', tags: TAGS, params, response: { 200: webhook, ...refusals } } },
    async ({ caller, params: { id } }) => webhookOf(parts, caller, id),
  );
}

function addCreate(api: Api, { longshoreFor }: RouteParts): void {
  api.post(
    '/v1/webhooks',
    {
      config: { ...WRITE, repeated: 'once', errors: ['WEBHOOK_LIMIT', 'AGENT_NOT_FOUND'] },
      schema: {
        summary: "Make a webhook: the events of the tenant's conversations are sent to a URL",
        description: 'Messages follow Standard Webhooks. Events that are logged from now on are sent, in order and at least once.',
        tags: TAGS,
        body: z.strictObject({
          url: url.meta({ example: 'https://hooks.example/longshore' }),
          tenant: z.string().optional(),
          types: types.optional(),
          agents: agents.optional(),
        }),
        response: { 201: withSecret, ...refusals },
      },
    },
    async (request, reply) => {
      const { caller, body } = request;
      tenantOf(caller);
      return reply.code(201).send(await longshoreFor(request).webhooks.create(withoutUndefined({ ...body, tenant: tenantFor(caller, body.tenant) })));
    },
  );
}

function addChanges(api: Api, parts: RouteParts): void {
  api.patch(
    '/v1/webhooks/:id',
    {
      config: { ...WRITE_ONE, errors: [...WRITE_ONE.errors, 'AGENT_NOT_FOUND'] },
      schema: {
        summary: 'Change a webhook',
        tags: TAGS,
        params,
        body: z.strictObject({
          url: url.optional(),
          types: types.nullable().optional().meta({ description: 'null: the usual ones' }),
          agents: agents.nullable().optional().meta({ description: 'null: all' }),
          state: z.enum(['active', 'disabled']).optional().meta({ description: '`disabled`: nothing is sent or collected from now on' }),
        }),
        response: { 200: webhook, ...refusals },
      },
    },
    async (request) => {
      const { webhookId } = await webhookOf(parts, request.caller, request.params.id);
      return parts.longshoreFor(request).webhooks.update(webhookId, withoutUndefined(request.body));
    },
  );
  api.delete(
    '/v1/webhooks/:id',
    {
      config: WRITE_ONE,
      schema: { summary: 'Remove a webhook', tags: TAGS, params, response: { 202: z.object({ accepted: z.literal(true) }), ...refusals } },
    },
    async (request, reply) => {
      const { webhookId } = await webhookOf(parts, request.caller, request.params.id);
      await parts.longshoreFor(request).webhooks.delete(webhookId);
      return reply.code(202).send({ accepted: true as const });
    },
  );
}
