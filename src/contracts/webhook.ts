import type { ConversationEvent, EventType } from './events.ts';

/** An endpoint that events of a tenant are sent to. Its secret is shown once, when it is made. */
export interface Webhook {
  webhookId: string;
  tenantId: string;
  url: string;
  /** Absent: all types but `text.delta`, `reasoning.delta` and `tool.output`. */
  types?: EventType[];
  /** Absent: conversations of all agents. */
  agents?: string[];
  state: 'active' | 'disabled';
  /** Why it is disabled. */
  why?: string;
  createdAt: string;
  /** Attempts that have failed since the last one that did not. */
  failures: number;
  failingSince?: string;
  /** Until when the secret before the newest one signs too. */
  oldSecretUntil?: string;
  /** Events that wait to be sent; at most 1000 are counted. */
  waiting: number;
}

/** What came of sending an event to an endpoint. */
export interface WebhookAttempt {
  attemptId: string;
  at: string;
  /** `dropped`: the event was removed by retention before it could be sent. `disabled`: the endpoint was disabled after this attempt. */
  outcome: 'delivered' | 'failed' | 'dropped' | 'disabled';
  /** The `webhook-id` of the message; repeated attempts have the same. */
  messageId?: string;
  type?: EventType;
  tookMs: number;
  /** Status of the HTTP answer, if there was one. */
  status?: number;
  problem?: string;
  retryAt?: string;
}

/** The body of a message. */
export interface WebhookPayload {
  type: EventType | 'test';
  /** When the event happened; ISO 8601, UTC. */
  timestamp: string;
  data: WebhookData | { webhookId: string };
}

/** The event as its conversation's log has it, with what tells whose it is. */
export type WebhookData = Omit<ConversationEvent, 'data'> & {
  agentId: string;
  userId: string;
  tenantId: string;
  /** Absent when it is too large to send. */
  data?: ConversationEvent['data'];
  /** What was left out, and the path of the API at which it is. */
  leftOut?: { bytes: number; path: string };
};

export interface DeliverWebhooksArgs {
  webhookId: string;
}
/** `empty`: nothing waits. `retry`: an attempt failed. `more`: the activity has had its time, and events wait. `ended`: the endpoint is disabled or removed. */
export type DeliverWebhooksResult = { outcome: 'empty' | 'more' | 'ended' } | { outcome: 'retry'; afterMs: number };

/** Task queue of the senders: slow endpoints take up no place of a tool call. */
export function webhookQueue(taskQueue: string): string {
  return `${taskQueue}-webhooks`;
}

/** Conversations have no such id: it has a colon. */
export function webhookWorkflowId(webhookId: string): string {
  return `webhook:${webhookId}`;
}

const MESSAGE = /^evt_(\d{1,10})_([A-Za-z0-9][A-Za-z0-9_~-]{0,127})$/;

/** The id of an event's message. Made of the event alone, so that each attempt has the same. A point would end the id in the signed text. */
export function messageIdOf({ conversationId, seq }: { conversationId: string; seq: number }): string {
  return `evt_${seq}_${conversationId.replaceAll('.', '~')}`;
}

/** The event of a message; undefined when the text is no such id. */
export function eventOfMessage(messageId: string): { conversationId: string; seq: number } | undefined {
  const [, seq, conversation] = MESSAGE.exec(messageId) ?? [];
  return seq === undefined || conversation === undefined ? undefined : { conversationId: conversation.replaceAll('~', '.'), seq: Number(seq) };
}

/** The activities of the senders of webhooks, which have a task queue of their own. */
export interface WebhookActivities {
  /** Sends what waits for an endpoint, in order, for some seconds. */
  deliverWebhooks(args: DeliverWebhooksArgs): Promise<DeliverWebhooksResult>;
}
