import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { messageIdOf, type DeliverWebhooksArgs, type DeliverWebhooksResult } from '../contracts/webhook.ts';
import type { Logger } from '../platform/log.ts';
import type { NewAttempt, WebhookTask } from '../store/service/webhook-rows.ts';
import type { Store } from '../store/store.ts';
import { MAX_DATA_BYTES, payloadOf } from '../webhooks/payload.ts';
import { openEndpoint, type Endpoint, type SendOutcome } from '../webhooks/send-message.ts';
import { pauseAfter, type WebhookTerms } from '../webhooks/webhook-terms.ts';

export interface DeliverWebhooksParts {
  store: Pick<Store, 'webhooks'>;
  webhooks: WebhookTerms;
  log: Logger;
}

/** After so many milliseconds, other endpoints have their turn. */
const TURN_MS = 20_000;
const HEARTBEAT_MS = 1_000;

interface Line {
  endpoint: Endpoint;
  webhookId: string;
  signal: AbortSignal;
}

/** Sends the events that wait for an endpoint, one after the other: the next only when the one before was taken. */
export function createDeliverWebhooks(parts: DeliverWebhooksParts) {
  const { store, webhooks: terms } = parts;
  return async function deliverWebhooks({ webhookId }: DeliverWebhooksArgs): Promise<DeliverWebhooksResult> {
    const context = Context.current();
    const sender = randomUUID();
    if (!(await store.webhooks.begin(webhookId, sender))) return { outcome: 'ended' };
    const beating = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
    let open: { url: string; endpoint: Endpoint } | undefined;
    try {
      for (const until = performance.now() + TURN_MS; performance.now() < until && !context.cancellationSignal.aborted;) {
        const task = await store.webhooks.next(webhookId, sender, MAX_DATA_BYTES);
        if (!task) return { outcome: 'ended' };
        if (!task.delivery) return await rest(parts, webhookId, sender);
        // The endpoint may have got another address since the event before.
        if (open?.url !== task.url) {
          await open?.endpoint[Symbol.asyncDispose]();
          open = { url: task.url, endpoint: openEndpoint(task.url, terms) };
        }
        const result = await deliver(parts, { endpoint: open.endpoint, webhookId, signal: context.cancellationSignal }, task, task.delivery);
        if (result) return result;
      }
      return { outcome: 'more' };
    } finally {
      clearInterval(beating);
      await open?.endpoint[Symbol.asyncDispose]();
    }
  };
}

async function rest({ store }: DeliverWebhooksParts, webhookId: string, sender: string): Promise<DeliverWebhooksResult> {
  await store.webhooks.rest(webhookId, sender);
  return { outcome: 'empty' };
}

/** Undefined when the event is done with. */
async function deliver(
  parts: DeliverWebhooksParts,
  { endpoint, webhookId, signal }: Line,
  task: WebhookTask,
  { deliveryId, conversationId, seq, event }: NonNullable<WebhookTask['delivery']>,
): Promise<DeliverWebhooksResult | undefined> {
  const { webhooks } = parts.store;
  if (!event) {
    const problem = 'retention removed the event before it could be sent';
    await webhooks.dropped({ webhookId, deliveryId, tookMs: 0, problem });
    return undefined;
  }
  const body = JSON.stringify(payloadOf(event, task.tenantId));
  const sent = await endpoint.send({ messageId: messageIdOf({ conversationId, seq }), body }, task.secrets, signal);
  const { outcome, tookMs, status } = sent;
  const attempt = { webhookId, deliveryId, tookMs, ...(status !== undefined && { status }) };
  if (outcome === 'delivered') {
    await webhooks.delivered(attempt, task);
    return undefined;
  }
  // The worker stops: nothing is known of this attempt, and the next makes it again.
  if (signal.aborted) return { outcome: 'more' };
  return fail(parts, attempt, task, sent);
}

async function fail(
  { store: { webhooks }, webhooks: terms, log }: DeliverWebhooksParts,
  attempt: NewAttempt,
  task: WebhookTask,
  { outcome, problem = 'it failed', askedMs }: SendOutcome,
): Promise<DeliverWebhooksResult> {
  const { tenantId, url, failures, failingMs } = task;
  // Whatever was changed during the attempt is tried at once.
  const more = { outcome: 'more' } as const;
  if (outcome === 'failed' && failingMs < terms.giveUpMs) {
    const afterMs = pauseAfter(terms, failures + 1, askedMs);
    return (await webhooks.failed({ ...attempt, problem }, task, afterMs)) ? { outcome: 'retry', afterMs } : more;
  }
  const why = outcome === 'gone' ? problem : `it has failed for ${Math.round(failingMs / 1000)} s, the last time because: ${problem}`;
  if (!(await webhooks.disable({ ...attempt, problem }, task, why))) return more;
  log.warn({ webhookId: attempt.webhookId, tenantId, host: new URL(url).host, why }, 'a webhook is disabled');
  return { outcome: 'ended' };
}
