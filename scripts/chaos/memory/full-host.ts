import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../scenario.ts';
import type { World } from '../world.ts';
import { WAITING } from '../kinds/memory.ts';

const WAITERS = 3;
const LIMIT_MS = 60_000;
const LOOK_MS = 100;
/** The row of a sandbox has the time at which its transaction began, and that one waits for those of the calls before it. */
const WITHIN_MS = 1_000;
/** What a call says that has waited for too long, with what can be done. */
const SAYS_WHAT_TO_DO = /has waited \d+ s for \d+ MB of memory \(LONGSHORE_HOST_WAIT\).*Close conversations.*add a host, or raise LONGSHORE_HOST_MEMORY/;

/** How calls wait for memory of a host that has promised all of it. */
export interface FullHost {
  /** Of calls that get memory in time: they say that they wait, and get it in the order in which they came. */
  tryOrder(): Promise<void>;
  /** Of a call that has waited for as long as LONGSHORE_HOST_WAIT says: it ends with an error that says what to do. */
  tryLimit(): Promise<void>;
}

/** @param places sandboxes for which the host has memory */
export function fullHost(world: World, places: number, { verdict, say }: Pick<Run, 'verdict' | 'say'>): FullHost {
  const open = new Set<string>();
  const start = async (agent: keyof typeof WAITING) => {
    const conversationId = `${agent}-${randomUUID()}`;
    open.add(conversationId);
    return world.longshore.start({ agent, user: 'ann', conversationId, message: WAITING[agent].turns[0]!.message, closeWhenDone: agent !== 'stayer' });
  };
  const fill = async (agent: 'holder' | 'stayer') => {
    const started = [];
    for (let place = 0; place < places; place += 1) started.push(await start(agent));
    for (const { id } of started) await whenIn(world, id);
    return started;
  };
  const wait = async () => {
    const waiter = await start('waiter');
    await until(() => isWaiting(world, waiter.id), `${waiter.id} says that it waits`);
    return waiter;
  };
  const untilClosed = async () => {
    for (const id of open) await until(async () => (await world.longshore.status(id)).state === 'closed', `${id} is closed`);
  };
  return {
    async tryOrder() {
      const holders = await fill('holder');
      const waiters = [];
      for (let number = 0; number < WAITERS; number += 1) waiters.push(await wait());
      // Rows of sandboxes are gone soon after.
      const beginning = Promise.all(waiters.map(({ id }) => whenIn(world, id)));
      const replies = await Promise.all([...holders, ...waiters].map((chat) => chat.reply()));
      const wrong = replies.filter((reply) => reply !== 'It was held.' && reply !== 'It has waited.');
      verdict.add(...wrong.map((reply) => ({ rule: 'lost' as const, what: `a conversation of the full host ended with "${reply}"` })));
      const began = await beginning;
      if (began.some((at, index) => at + WITHIN_MS < (began[index - 1] ?? 0)))
        verdict.add({ rule: 'told', what: `calls that waited for memory got it in another order than that in which they came: ${began.join(', ')}` });
      await untilClosed();
      say(`a host with memory for ${places} sandboxes: ${WAITERS} calls waited, said so, and got it in their order`);
    },
    async tryLimit() {
      const stayers = await fill('stayer');
      const late = await wait();
      await late.reply();
      const said = (await world.records.of(late.id)).entries.flatMap(({ entry }) => (entry.role === 'tool' ? [JSON.stringify(entry.content)] : []));
      if (!SAYS_WHAT_TO_DO.test(said[0] ?? '')) verdict.add({ rule: 'told', what: `a call that waited for memory for too long says: ${said[0] ?? 'nothing'}` });
      for (const chat of stayers) await chat.close();
      await untilClosed();
      say(`a host with memory for ${places} sandboxes: a call waited for too long, and says what to do`);
    },
  };
}

async function isWaiting({ records, longshore }: World, id: string): Promise<boolean> {
  const { events } = await records.of(id);
  return events.some(({ type }) => type === 'sandbox.waiting') && (await longshore.status(id)).waitsForRoom !== undefined;
}

/** When its sandbox got its memory, in milliseconds. */
async function whenIn({ records }: World, id: string): Promise<number> {
  const sql = 'select (extract(epoch from created_at) * 1000)::float8 as at from sandboxes where conversation_id = $1';
  let found: number | undefined;
  await until(async () => (found = (await records.query<{ at: number }>(sql, [id]))[0]?.at) !== undefined, `${id} has a sandbox`);
  return found ?? 0;
}

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; !(await holds()); await sleep(LOOK_MS)) {
    if (performance.now() > end) throw new Error(`after ${LIMIT_MS / 1000} s, this is not so: ${what}`);
  }
}
