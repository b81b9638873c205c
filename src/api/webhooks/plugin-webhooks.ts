import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { PluginWebhook } from '../../contracts/plugins/webhook.ts';
import { requireOperator } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { refusals, valuesOf } from '../routes/schemas.ts';

const ONE = { scope: 'admin', errors: ['OPERATOR_REQUIRED', 'PLUGIN_NOT_FOUND'] } as const;
const TAGS = ['plugins'];
const params = z.object({ id: z.string().meta({ description: 'Id of a plugin, or the name that agents give it' }) });
const fields = z.looseObject({
  webhookId: z.string(),
  plugin: z.string(),
  tenantId: z.string(),
  endpoint: z.string(),
  createdAt: z.string(),
  lastAt: z.string().optional().meta({ description: 'When the newest request came' }),
  waiting: z.number().meta({ description: 'Requests that have not been delivered yet' }),
  delivered: z.number(),
  failed: z.number(),
  problem: z.string().optional().meta({ description: 'Why the newest request that has ended has failed' }),
});
const webhook = valuesOf<PluginWebhook>(fields.meta({ id: 'PluginWebhook' }));
const made = fields.extend({ path: z.string(), url: z.string().meta({ description: 'Shown only now' }) });

/** Addresses at which outside systems reach functions of plugins. Only operators reach plugins. */
export function addPluginWebhookRoutes(api: Api, { longshore, longshoreFor, addressOf }: RouteParts): void {
  api.get(
    '/v1/plugins/:id/webhooks',
    {
      config: ONE,
      schema: { summary: 'List the webhooks of a plugin', tags: TAGS, params, response: { 200: z.object({ webhooks: z.array(webhook) }), ...refusals } },
    },
    async (request) => {
      requireOperator(request.caller, 'plugins');
      return { webhooks: await longshore.plugins.webhooks(request.params.id) };
    },
  );
  api.post(
    '/v1/plugins/:id/webhooks',
    {
      config: { ...ONE, errors: [...ONE.errors, 'PLUGIN_WEBHOOK_LIMIT'], repeated: 'once' },
      schema: {
        summary: 'Make an address at which an outside system reaches a function of a plugin',
        description: 'Who knows the address can send requests to the function. They reach the plugin of one tenant.',
        tags: TAGS,
        params,
        body: z.strictObject({
          endpoint: z.string().meta({ description: 'As the plugin has mounted it', example: 'github' }),
          tenant: z.string().optional().meta({ description: 'Default: `default`' }),
        }),
        response: { 201: made, ...refusals },
      },
    },
    async (request, reply) => {
      requireOperator(request.caller, 'plugins');
      const { endpoint, tenant } = request.body;
      const added = await longshoreFor(request).plugins.addWebhook(request.params.id, withoutUndefined({ endpoint, tenant }));
      return reply.code(201).send({ ...added, url: `${addressOf(request)}${added.path}` });
    },
  );
  api.delete(
    '/v1/plugins/:id/webhooks/:webhookId',
    {
      config: { ...ONE, errors: [...ONE.errors, 'PLUGIN_WEBHOOK_NOT_FOUND'] },
      schema: {
        summary: 'End an address of a plugin',
        description: 'Requests that wait for it are not delivered.',
        tags: TAGS,
        params: params.extend({ webhookId: z.string() }),
        response: { 204: z.undefined(), ...refusals },
      },
    },
    async (request, reply) => {
      requireOperator(request.caller, 'plugins');
      await longshoreFor(request).plugins.removeWebhook(request.params.id, request.params.webhookId);
      return reply.code(204).send();
    },
  );
}
