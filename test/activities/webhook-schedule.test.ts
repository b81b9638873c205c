import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { createDeliverWebhooks } from '../../src/activities/deliver-webhooks.ts';
import type { DeliverWebhooksResult } from '../../src/contracts/webhook.ts';
import type { Store } from '../../src/store/store.ts';
import type { WebhookTask } from '../../src/store/service/webhook-rows.ts';
import { makeWebhookSecret } from '../../src/webhooks/secret.ts';
import { webhookTerms } from '../../src/webhooks/webhook-terms.ts';
import { openReceiver } from '../webhooks/receiver.ts';

/** The schedule of the settings that users have, by a clock of the test: hours pass at once. The messages are sent. */
const HOUR = 3_600_000;
const EVENTS = 5;

/** The rows of one endpoint, with as many events that wait. */
class Rows {
  nowMs = 0;
  failures = 0;
  sent = 0;
  disabled: string | undefined;
  #failingSinceMs: number | undefined;

  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  get webhooks(): Store['webhooks'] {
    const rows = {
      begin: async () => this.disabled === undefined,
      next: async (): Promise<WebhookTask> => ({
        tenantId: 'acme',
        url: this.url,
        secrets: [makeWebhookSecret()],
        failures: this.failures,
        failingMs: this.#failingSinceMs === undefined ? 0 : this.nowMs - this.#failingSinceMs,
        ...(this.sent < EVENTS && { delivery: this.#delivery(this.sent + 1) }),
      }),
      rest: async () => undefined,
      delivered: async () => {
        [this.sent, this.failures, this.#failingSinceMs] = [this.sent + 1, 0, undefined];
      },
      failed: async () => {
        this.failures += 1;
        this.#failingSinceMs ??= this.nowMs;
        return true;
      },
      disable: async (_attempt: unknown, _tried: unknown, why: string) => {
        this.disabled = why;
        return true;
      },
    };
    return rows as Partial<Store['webhooks']> as Store['webhooks'];
  }

  #delivery(seq: number): NonNullable<WebhookTask['delivery']> {
    const event = { seq, at: new Date(0).toISOString(), conversationId: 'conv_1', type: 'turn.finished' as const, data: { outcome: 'finished' as const } };
    return { deliveryId: `d${seq}`, conversationId: 'conv_1', seq, event: { event, agentId: 'fixer', userId: 'user-1', bytes: 2 } };
  }
}

/** Runs the activity as its workflow does, and lets the pauses pass, until something else than a pause is asked for. Gives the times of all attempts. */
async function run(rows: Rows, atEach: () => Promise<void> = async () => undefined): Promise<{ times: number[]; last: DeliverWebhooksResult }> {
  const webhooks = webhookTerms({ LONGSHORE_WEBHOOK_ADDRESSES: '127.0.0.1' });
  const deliver = createDeliverWebhooks({ store: { webhooks: rows.webhooks }, webhooks, log: pino({ level: 'silent' }) });
  const times: number[] = [];
  for (;;) {
    times.push(rows.nowMs);
    await atEach();
    const last = await new MockActivityEnvironment().run<[{ webhookId: string }], DeliverWebhooksResult, typeof deliver>(deliver, { webhookId: 'hook_1' });
    if (last.outcome !== 'retry') return { times, last };
    rows.nowMs += last.afterMs;
  }
}

test('an endpoint that is down is tried for 24 hours, at the pauses of the guide, and then disabled', async () => {
  await using receiver = await openReceiver();
  await receiver.goAway();
  const rows = new Rows(receiver.url);
  const { times, last } = await run(rows);
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  for (const [index, least] of [5_000, 30_000, 120_000, 600_000, 1_800_000, ...pauses.slice(5).map(() => HOUR)].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(least);
    expect(pauses[index]).toBeLessThanOrEqual(least * 1.1);
  }
  expect(last).toEqual({ outcome: 'ended' });
  expect(times.at(-1)).toBeGreaterThanOrEqual(24 * HOUR);
  expect(times.at(-2)).toBeLessThan(24 * HOUR);
  expect(rows.disabled).toMatch(/^it has failed for \d+ s, the last time because: /);
  expect(rows.sent).toBe(0);
});

test('an endpoint that is down for an hour gets all of it, in order, when it is back', async () => {
  await using receiver = await openReceiver();
  await receiver.goAway();
  const rows = new Rows(receiver.url);
  let isBack = false;
  const { last } = await run(rows, async () => {
    if (isBack || rows.nowMs < HOUR) return;
    isBack = true;
    await receiver.comeBack();
  });
  expect(last).toEqual({ outcome: 'empty' });
  // The pause that runs when it comes back is an hour at most.
  expect(rows.nowMs).toBeLessThan(HOUR + 1.1 * HOUR);
  expect(receiver.received.map(({ payload }) => (payload.data as { seq: number }).seq)).toEqual(Array.from({ length: EVENTS }, (_, index) => index + 1));
});
