import type { WebhookData, WebhookPayload } from '../contracts/webhook.ts';
import type { WebhookTask } from '../store/service/webhook-rows.ts';

/** Bytes of an event's data that a message has; of larger ones it has the place. */
export const MAX_DATA_BYTES = 200_000;

type Found = NonNullable<NonNullable<WebhookTask['delivery']>['event']>;

/** The body of an event's message. */
export function payloadOf({ event, agentId, userId, bytes }: Found, tenantId: string): WebhookPayload {
  const { conversationId, seq } = event;
  const path = `/v1/conversations/${encodeURIComponent(conversationId)}/events?after=${seq - 1}&limit=1`;
  const data = { ...event, agentId, userId, tenantId, ...(event.data === undefined && { leftOut: { bytes, path } }) } as WebhookData;
  return { type: event.type, timestamp: event.at, data };
}
