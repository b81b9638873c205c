import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { pageQuery } from '../routes/pages.ts';
import { refusals } from '../routes/schemas.ts';
import { attempt, params, READ_ONE, TAGS, tested, webhook, withSecret, WRITE_ONE } from './webhook-schemas.ts';
import { webhookOf } from './webhooks.ts';

/** What was sent to a webhook, and what it takes to send again. */
export function addWebhookDeliveryRoutes(api: Api, parts: RouteParts): void {
  addAttempts(api, parts);
  addReplay(api, parts);
  addActions(api, parts);
}

function addAttempts(api: Api, parts: RouteParts): void {
  api.get(
    '/v1/webhooks/:id/attempts',
    {
      config: READ_ONE,
      schema: {
        summary: 'List what was sent in the last seven days, newest first',
        tags: TAGS,
        params,
        querystring: z.strictObject(pageQuery),
        response: {
          200: z.object({ attempts: z.array(attempt), next: z.string().exactOptional().meta({ description: 'Absent on the last page' }) }),
          ...refusals,
        },
      },
    },
    async ({ caller, params: { id }, query }) => {
      await webhookOf(parts, caller, id);
      return parts.longshore.webhooks.attempts(id, withoutUndefined(query));
    },
  );
}

function addReplay(api: Api, parts: RouteParts): void {
  api.post(
    '/v1/webhooks/:id/replay',
    {
      config: { ...WRITE_ONE, repeated: 'answer' },
      schema: {
        summary: 'Send events again',
        description: 'With one of `since` and `from`. Messages have the same `webhook-id` as before.',
        tags: TAGS,
        params,
        body: z.strictObject({
          since: z
            .string()
            .optional()
            .meta({ description: 'The events that were logged from this time on, or in this age, such as 24h', example: '2027-01-31T09:00:00Z' }),
          from: z.string().optional().meta({ description: 'This message and those after it: its webhook-id' }),
        }),
        response: { 200: z.object({ queued: z.int() }), ...refusals },
      },
    },
    async ({ caller, params: { id }, body }) => {
      await webhookOf(parts, caller, id);
      return parts.longshore.webhooks.replay(id, withoutUndefined(body));
    },
  );
}

function addActions(api: Api, parts: RouteParts): void {
  const overlap = z.union([z.string(), z.number()]).optional().meta({ description: 'How long the old secret signs too; default 24h' });
  api.post(
    '/v1/webhooks/:id/enable',
    {
      config: { ...WRITE_ONE, repeated: 'answer' },
      schema: { summary: 'Enable a webhook, and send what waits', tags: TAGS, params, response: { 200: webhook, ...refusals } },
    },
    async (request) => {
      const { webhookId } = await webhookOf(parts, request.caller, request.params.id);
      return parts.longshoreFor(request).webhooks.enable(webhookId);
    },
  );
  api.post(
    '/v1/webhooks/:id/secrets',
    {
      config: { ...WRITE_ONE, repeated: 'once' },
      schema: {
        summary: 'Make a new secret; the old one signs too for a while',
        tags: TAGS,
        params,
        body: z.strictObject({ overlap }).optional(),
        response: { 200: withSecret, ...refusals },
      },
    },
    async (request) => {
      const { webhookId } = await webhookOf(parts, request.caller, request.params.id);
      return parts.longshoreFor(request).webhooks.rotate(webhookId, withoutUndefined(request.body ?? {}));
    },
  );
  api.post(
    '/v1/webhooks/:id/test',
    {
      config: { ...WRITE_ONE, repeated: 'answer' },
      schema: { summary: 'Send a message of type `test` now', tags: TAGS, params, response: { 200: tested, ...refusals } },
    },
    async ({ caller, params: { id } }) => {
      await webhookOf(parts, caller, id);
      return parts.longshore.webhooks.test(id);
    },
  );
}
