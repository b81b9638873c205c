import type { AuditSource } from '../../contracts/audit.ts';
import type { ConversationEvent, EventType } from '../../contracts/events.ts';
import type { Webhook, WebhookAttempt } from '../../contracts/webhook.ts';

export interface NewWebhook {
  webhookId: string;
  tenantId: string;
  url: string;
  types?: EventType[];
  agents?: string[];
  secret: string;
}

export interface WebhookChange {
  url?: string;
  /** Null: the usual ones. */
  types?: EventType[] | null;
  /** Null: all. */
  agents?: string[] | null;
  /** A change to `active` forgets the failures, and sends what waits. */
  state?: Webhook['state'];
}

/** An event that is to be sent, with the endpoint as it is now. */
export interface WebhookTask {
  tenantId: string;
  url: string;
  /** The newest first; two while they are rotated. */
  secrets: string[];
  failures: number;
  failingMs: number;
  /** Absent when nothing waits. */
  delivery?: {
    deliveryId: string;
    conversationId: string;
    seq: number;
    /** Absent when retention has removed the event. `bytes`: of its data, which is absent when it is larger than asked for. */
    event?: { event: Omit<ConversationEvent, 'data'> & { data?: ConversationEvent['data'] }; agentId: string; userId: string; bytes: number };
  };
}

export interface NewAttempt {
  webhookId: string;
  deliveryId: string;
  tookMs: number;
  status?: number;
  problem?: string;
}

export interface WebhookRows {
  /** Undefined when the tenant has `limit` of them. */
  create(webhook: NewWebhook, limit: number, by: AuditSource): Promise<Webhook | undefined>;
  /** Of that tenant, when given; as in the other calls. */
  get(webhookId: string, tenantId?: string): Promise<Webhook | undefined>;
  /** Oldest first. */
  list(tenantId?: string): Promise<Webhook[]>;
  change(webhookId: string, change: WebhookChange, by: AuditSource): Promise<Webhook | undefined>;
  /** False when there is none. What waits for it goes with it. */
  remove(webhookId: string, by: AuditSource): Promise<boolean>;
  /** Replaces the secret; the one before signs too for so many milliseconds, and one before that no more. */
  rotate(webhookId: string, secret: string, overlapMs: number, by: AuditSource): Promise<Webhook | undefined>;
  /** The newest first. `before`: the id of the last attempt of the page before. */
  attempts(webhookId: string, page: { before?: string; limit: number }): Promise<WebhookAttempt[]>;
  /** Queues the tenant's logged events from a time on again; undefined when they are more than `limit`: then none is queued. */
  replaySince(webhookId: string, since: Date, limit: number): Promise<number | undefined>;
  /** Queues again an event that was queued before and those after it; 0 when it is not known (any more). */
  replayFrom(webhookId: string, from: { conversationId: string; seq: number }, limit: number): Promise<number | undefined>;
  secretsOf(webhookId: string): Promise<string[]>;

  /** Endpoints that have waiting events and no running sender; each is returned once in a minute. */
  claimDue(): Promise<string[]>;
  /** Makes a run of the sender the one that may send; false when the endpoint is disabled or removed. */
  begin(webhookId: string, sender: string): Promise<boolean>;
  /**
   * The event to send next: the one that has waited longest, or rather the earliest that waits of its conversation. Undefined when another run of the sender has
   * begun, or the endpoint is disabled or removed.
   */
  next(webhookId: string, sender: string, maxBytes: number): Promise<WebhookTask | undefined>;
  /** The event is done with, unless the endpoint has got another address since `tried` was read. */
  delivered(attempt: NewAttempt, tried: Pick<WebhookTask, 'url'>): Promise<void>;
  /** The event is done with, and was not sent. */
  dropped(attempt: NewAttempt): Promise<void>;
  /** Says when the endpoint is tried again. False when it was changed or enabled since `tried` was read: then only the attempt is noted. */
  failed(attempt: NewAttempt & { problem: string }, tried: Pick<WebhookTask, 'url' | 'failures'>, retryMs: number): Promise<boolean>;
  /** Disables the endpoint. False as with `failed`. */
  disable(attempt: NewAttempt & { problem: string }, tried: Pick<WebhookTask, 'url' | 'failures'>, why: string): Promise<boolean>;
  /** Says that nothing waits: events that come are due at once. */
  rest(webhookId: string, sender: string): Promise<void>;
  /** Removes some old attempts and deliveries, and those of removed endpoints; the number of them. */
  sweep(olderThanMs: number): Promise<number>;
}
