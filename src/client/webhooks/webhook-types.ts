import type { EventType } from '../../contracts/events.ts';
import type { Webhook, WebhookAttempt } from '../../contracts/webhook.ts';

export interface CreateWebhookOptions {
  /** An absolute http or https URL at a public address. */
  url: string;
  /** The tenant whose events are sent; default `default`. */
  tenant?: string | undefined;
  /** Types of events; default: all but `text.delta`, `reasoning.delta` and `tool.output`. */
  types?: EventType[] | undefined;
  /** Ids of agents; default: all. */
  agents?: string[] | undefined;
}

export interface UpdateWebhookOptions {
  url?: string | undefined;
  /** Null: the default. */
  types?: EventType[] | null | undefined;
  /** Null: all. */
  agents?: string[] | null | undefined;
  /** `disabled`: nothing is sent or collected from now on. */
  state?: 'active' | 'disabled' | undefined;
}

/** One of both. */
export interface ReplayOptions {
  /** Sends the events that were logged from this time on: a Date, or a text such as `24h` or `2027-01-31T09:00:00Z`. */
  since?: Date | string | undefined;
  /** Sends this message and those after it again: its `webhook-id`. It has to be one of the last seven days. */
  from?: string | undefined;
}

export interface AttemptPage {
  attempts: WebhookAttempt[];
  /** `cursor` of the next page; absent on the last one. */
  next?: string;
}

export interface WebhookTest {
  delivered: boolean;
  tookMs: number;
  status?: number;
  problem?: string;
}

/** Endpoints that events are sent to. An unknown one fails with `WEBHOOK_NOT_FOUND`. */
export interface Webhooks {
  /** Makes one. Its `secret` signs the messages, and is shown only now. Fails with `AGENT_NOT_FOUND` or `WEBHOOK_LIMIT`. */
  create(options: CreateWebhookOptions): Promise<Webhook & { secret: string }>;
  get(webhookId: string): Promise<Webhook>;
  /** Oldest first; of one tenant when given. */
  list(tenant?: string): Promise<Webhook[]>;
  update(webhookId: string, change: UpdateWebhookOptions): Promise<Webhook>;
  /** Removes it, with what waits for it. */
  delete(webhookId: string): Promise<void>;
  /** Enables it, and sends what waited when it was disabled. Nothing was collected since; `replay` sends that. */
  enable(webhookId: string): Promise<Webhook>;
  /** What was sent in the last seven days, newest first. */
  attempts(webhookId: string, page?: { limit?: number; cursor?: string }): Promise<AttemptPage>;
  replay(webhookId: string, options: ReplayOptions): Promise<{ queued: number }>;
  /** Makes a new secret. For `overlap` (default 24h), the old one signs too. */
  rotate(webhookId: string, options?: { overlap?: number | string | undefined }): Promise<Webhook & { secret: string }>;
  /** Sends a message of type `test` now, from the process that is asked, and tells what came of it. */
  test(webhookId: string): Promise<WebhookTest>;
}
