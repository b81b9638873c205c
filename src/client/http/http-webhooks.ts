import type { Webhook } from '../../contracts/webhook.ts';
import { nameOf } from '../client-arguments.ts';
import { attemptOptions, createWebhookOptions, overlapOf, replayOptions, updateWebhookOptions } from '../webhooks/webhook-arguments.ts';
import type { AttemptPage, Webhooks, WebhookTest } from '../webhooks/webhook-types.ts';
import type { HttpLink } from './http-link.ts';

const POST = 'POST' as const;

export function createHttpWebhooks(link: HttpLink): Webhooks {
  const at = (id: string, rest = '') => `/v1/webhooks/${encodeURIComponent(nameOf('webhookId', id))}${rest}`;
  return {
    create: async (options) => (await link.json('/v1/webhooks', { method: POST, body: createWebhookOptions(options) })) as Webhook & { secret: string },
    get: async (id) => (await link.json(at(id))) as Webhook,
    async list(tenant) {
      const wanted = tenant === undefined ? undefined : nameOf('tenant', tenant);
      const { webhooks } = (await link.json('/v1/webhooks')) as { webhooks: Webhook[] };
      return wanted === undefined ? webhooks : webhooks.filter(({ tenantId }) => tenantId === wanted);
    },
    update: async (id, change) => (await link.json(at(id), { method: 'PATCH', body: updateWebhookOptions(change) })) as Webhook,
    async delete(id) {
      await link.json(at(id), { method: 'DELETE' });
    },
    enable: async (id) => (await link.json(at(id, '/enable'), { method: POST })) as Webhook,
    async attempts(id, page) {
      const { limit, cursor } = attemptOptions(page);
      const query = new URLSearchParams({ ...(limit !== undefined && { limit: String(limit) }), ...(cursor !== undefined && { cursor }) });
      return (await link.json(at(id, `/attempts?${query.toString()}`))) as AttemptPage;
    },
    async replay(id, options) {
      const what = replayOptions(options);
      const body = 'since' in what ? { since: what.since.toISOString() } : { from: what.messageId };
      return (await link.json(at(id, '/replay'), { method: POST, body })) as { queued: number };
    },
    async rotate(id, options) {
      const overlap = overlapOf(options);
      const body = overlap === undefined ? {} : { overlap };
      return (await link.json(at(id, '/secrets'), { method: POST, body })) as Webhook & { secret: string };
    },
    test: async (id) => (await link.json(at(id, '/test'), { method: POST })) as WebhookTest,
  };
}
