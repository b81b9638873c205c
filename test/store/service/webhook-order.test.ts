import * as fc from 'fast-check';
import { Client } from 'pg';
import { countEvents, insertEvents } from '../../../src/store/database/event-sql.ts';
import type { Store } from '../../../src/store/store.ts';
import { BY, newConversation, newId, useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const APPEND = `with counter as (
    update conversations set ${countEvents('$2')} where conversation_id = $1 returning conversation_id, event_seq
  ), logged as (${insertEvents('$2')})
  select 1 from counter`;
const NOTE = [{ type: 'note', data: { text: 'a' } }];
const MIXED = [...NOTE, { type: 'text.delta', data: { text: 'b' } }, { type: 'step.started', data: { step: 1, attempt: 1 } }];

/** A transaction as some process may have one: it begins early or late, stays open, and ends well or not. */
interface Transaction {
  /** Which conversations get events, in this order. */
  targets: number[];
  events: typeof MIXED;
  before: number;
  open: number;
  fails: boolean;
}

const CONVERSATIONS = 3;
const transaction: fc.Arbitrary<Transaction> = fc.record({
  // In one order, as otherwise two transactions could wait for each other.
  targets: fc.uniqueArray(fc.nat(CONVERSATIONS - 1), { minLength: 1, maxLength: 2 }).map((list) => list.toSorted((one, other) => one - other)),
  events: fc.constantFrom(NOTE, MIXED),
  before: fc.nat(3),
  open: fc.nat(12),
  fails: fc.boolean(),
});

async function run(client: Client, conversations: string[], transactions: Transaction[]): Promise<void> {
  for (const { targets, events, before, open, fails } of transactions) {
    await client.query('begin');
    // Takes the transaction's number before it takes a conversation, so that numbers do not follow the order of commits.
    await client.query('select pg_current_xact_id()');
    await pause(before);
    for (const target of targets) {
      await client.query(APPEND, [conversations[target], JSON.stringify(events)]);
      await pause(open);
    }
    await client.query(fails ? 'rollback' : 'commit');
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Takes what waits as a sender does, with a new run of the sender now and then, until the writers have ended and nothing waits. */
async function consume(webhookId: string, isOver: () => boolean): Promise<{ deliveryId: number; conversationId: string; seq: number }[]> {
  const taken: { deliveryId: number; conversationId: string; seq: number }[] = [];
  for (let round = 0; ; round += 1) {
    const wasOver = isOver();
    const sender = `run-${Math.floor(round / 5)}`;
    if (round % 5 === 0) await store.webhooks.begin(webhookId, sender);
    const task = await store.webhooks.next(webhookId, sender, 1000);
    if (task?.delivery) {
      const { deliveryId, conversationId, seq } = task.delivery;
      taken.push({ deliveryId: Number(deliveryId), conversationId, seq });
      await store.webhooks.delivered({ webhookId, deliveryId, tookMs: 1 }, task);
    } else if (wasOver) return taken;
  }
}

test('whatever order transactions begin and end in, no event is skipped, none comes twice, and each conversation keeps its order', async () => {
  let cameLate = 0;
  const clients = Array.from({ length: 4 }, () => new Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  try {
    const writers = fc.array(fc.array(transaction, { minLength: 1, maxLength: 5 }), { minLength: 4, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(writers, async (plans) => {
        const tenantId = newId('evt');
        const webhookId = newId('hook');
        await store.webhooks.create({ webhookId, tenantId, url: 'http://a.example', secret: 'whsec_' }, 1, BY);
        const conversations: string[] = [];
        for (let count = 0; count < CONVERSATIONS; count += 1) conversations.push(await newConversation(store, { tenantId }));
        let over = false;
        const work = Promise.all(plans.map((plan, index) => run(clients[index]!, conversations, plan))).finally(() => (over = true));
        const taken = await consume(webhookId, () => over);
        await work;
        for (const conversationId of conversations) {
          const logged = (await store.events.read(conversationId, 0)).filter(({ type }) => type !== 'text.delta').map(({ seq }) => seq);
          expect(taken.filter((one) => one.conversationId === conversationId).map(({ seq }) => seq)).toEqual(logged);
        }
        cameLate += taken.filter(({ deliveryId }, index) => index > 0 && deliveryId < (taken[index - 1]?.deliveryId ?? 0)).length;
        await store.webhooks.remove(webhookId, BY);
      }),
      { numRuns: 25 },
    );
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
  // A cursor over the numbers of deliveries would have skipped these.
  expect(cameLate).toBeGreaterThan(0);
}, 60_000);

test('a webhook that is removed while events are logged for it neither holds them up nor makes them fail', async () => {
  const webhookId = newId('hook');
  await store.webhooks.create({ webhookId, tenantId: 'removing', url: 'http://a.example', secret: 'whsec_' }, 1, BY);
  const conversationId = await newConversation(store, { tenantId: 'removing' });
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(APPEND, [conversationId, JSON.stringify(NOTE)]);
    expect(await store.webhooks.remove(webhookId, BY)).toBe(true);
    await client.query(APPEND, [conversationId, JSON.stringify(NOTE)]);
    await client.query('commit');
  } finally {
    await client.end();
  }
  expect((await store.events.read(conversationId, 0)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
});
