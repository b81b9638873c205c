import { Client } from 'pg';
import type { ConversationFilter, Store } from '../../src/store/store.ts';
import { compare, compareWithLimit, timed, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';

const CONVERSATIONS = { few: 100, many: 100_000 };
const EVENTS_EACH = 100;
const ROUNDS = 500;
/** Reads and appends before those that are timed. */
const WARM_UP = 200;
const LIST_ROUNDS = 20;
const LIST_LIMIT_MS = 50;
const PAGE = 50;
/** Conversations of a round of the reaper. */
const REAPED = 1_000;
const YEAR_DAYS = 365;
const DAY_MS = 86_400_000;
/** Half of the conversations are closed. Every thousandth works, and waits for a person; every ten thousandth has a rare agent, and is closed. */
const ADD_CONVERSATIONS = `insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status, event_seq, created_at, updated_at)
  select 'conv_' || n, case when n % 10000 = 1 then 'rare' else 'fixer' end, 'user-' || n % 1000, 'tenant-' || n % 100, case when n % 1000 = 0 then 'running' when n % 2 = 1 then 'closed' else 'idle' end,
    case when n % 1000 = 0 then '{"state":"running","queued":0,"pendingApprovals":[{"callId":"call_1"}],"sandboxTier":"none"}'
      else '{"state":"idle","queued":0,"pendingApprovals":[],"sandboxTier":"none"}' end::json, ${EVENTS_EACH}, now() - n * interval '1 minute', now() - n * interval '1 minute'
  from generate_series($1::int, $2::int) n on conflict do nothing`;
const ADD_EVENTS = `insert into events (conversation_id, seq, at, type, data)
  select 'conv_' || n, seq, now(), 'tool.output', '{"callId":"call_1","stream":"stdout","offset":0,"bytes":4,"text":"line"}'
  from generate_series($1::int, $2::int) n, generate_series(1, ${EVENTS_EACH}) seq on conflict do nothing`;
/** Rows that are added by one statement. */
const BATCH = 2_000;
const FILTERS: Record<string, Omit<ConversationFilter, 'limit'>> = {
  'of all': {},
  'that work': { state: 'running' },
  'of a rare agent': { agentId: 'rare' },
  'of a tenant': { tenantId: 'tenant-7' },
  'of a user': { tenantId: 'tenant-7', userId: 'user-7' },
  'with approvals': { hasApprovals: true },
  'of an agent of a tenant': { tenantId: 'tenant-1', agentId: 'rare' },
  'of an unknown agent': { agentId: 'unknown' },
  'of an unknown user': { userId: 'unknown' },
  'of no state': { state: 'paused' },
  'of no agent by state': { agentId: 'rare', state: 'idle' },
};

/** Ten million events of a hundred thousand conversations, of which a hundred are worked on, or any, against ten thousand of a hundred; lists of conversations; and what the reaper reads in each round. */
export async function measureStoredRows({ stack, store }: BenchParts): Promise<Measurement[]> {
  const client = new Client(stack.config.DATABASE_URL);
  await client.connect();
  try {
    await fill(client, 1, CONVERSATIONS.few);
    const few = await sample(store, idsOf(CONVERSATIONS.few));
    await fill(client, CONVERSATIONS.few + 1, CONVERSATIONS.many);
    const some = await sample(store, idsOf(CONVERSATIONS.few, CONVERSATIONS.many / CONVERSATIONS.few));
    const many = await sample(store, idsOf(CONVERSATIONS.many));
    const reads: Record<string, () => Promise<unknown>> = {
      ...Object.fromEntries(Object.entries(FILTERS).map(([name, filter]) => [`list ${name}`, () => store.conversations.list({ ...filter, limit: PAGE })])),
      'reap: a page of open ones': () => store.conversations.listOpen({ afterId: '', limit: REAPED }),
      'reap: none to remove': () => store.removal.claim(YEAR_DAYS * DAY_MS, PAGE),
      'reap: none to compact': () => store.conversations.compact(YEAR_DAYS, PAGE),
    };
    const lists: Measurement[] = [];
    for (const [name, read] of Object.entries(reads)) {
      const samples: number[] = [];
      for (let round = 0; round < LIST_ROUNDS; round += 1) samples.push(await timed(read));
      lists.push(compareWithLimit({ name, unit: 'ms', limit: LIST_LIMIT_MS }, samples));
    }
    const baselineIs = 'the same among 10 000 events';
    return [
      compare({ name: 'append an event', goal: 1.2, unit: 'ms', baselineIs }, { subject: some.append, baseline: few.append }),
      compare({ name: 'follow events', goal: 1.2, unit: 'ms', baselineIs }, { subject: some.follow, baseline: few.follow }),
      compare({ name: 'append to any', unit: 'ms', baselineIs }, { subject: many.append, baseline: few.append }),
      compare({ name: 'follow any', unit: 'ms', baselineIs }, { subject: many.follow, baseline: few.follow }),
      ...lists,
    ];
  } finally {
    await client.end();
  }
}

async function fill(client: Client, from: number, to: number): Promise<void> {
  for (let first = from; first <= to; first += BATCH) {
    const values = [first, Math.min(to, first + BATCH - 1)];
    await client.query(ADD_CONVERSATIONS, values);
    await client.query(ADD_EVENTS, values);
  }
  await client.query('vacuum analyze conversations');
  await client.query('vacuum analyze events');
}

/** Those that are worked on: as many of the first, every so many. */
function idsOf(count: number, apart = 1): string[] {
  return Array.from({ length: count }, (_, index) => `conv_${1 + index * apart}`);
}

async function sample({ events }: Store, ids: string[]): Promise<{ append: number[]; follow: number[] }> {
  const data = { callId: 'call_1', stream: 'stdout', offset: 0, bytes: 4, text: 'line' } as const;
  const append: number[] = [];
  const follow: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const conversationId = ids[Math.floor(Math.random() * ids.length)] ?? '';
    append.push(await timed(() => events.append(conversationId, [{ type: 'tool.output', data }])));
    follow.push(await timed(() => events.read(conversationId, EVENTS_EACH - 1)));
  }
  return { append: append.slice(WARM_UP), follow: follow.slice(WARM_UP) };
}
