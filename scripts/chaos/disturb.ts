import { setTimeout as sleep } from 'node:timers/promises';
import { makeId } from '../../src/contracts/ids.ts';
import { problemsWithEndings } from './check-endings.ts';
import { insist } from './insist.ts';
import { KINDS } from './kinds/kinds.ts';
import { between, oneOf } from './random.ts';
import type { Problem, Verdict } from './verdict.ts';
import type { World } from './world.ts';

const LANES = 4;
const WISHES = 3;
/** Before each wish. */
const WAIT_MS = [100, 4_000] as const;
const CLOSE_LIMIT_MS = 240_000;
const LOOK_EVERY_MS = 200;

type Wish = (longshore: World['longshore'], id: string) => Promise<unknown>;

/** What may end a turn, or hold it, in any order. */
const ALL_WISHES: readonly Wish[] = [
  (longshore, id) => longshore.interrupt(id),
  (longshore, id) => longshore.pause(id, { mode: 'now' }),
  (longshore, id) => longshore.resume(id),
  (longshore, id) => longshore.cancel(id),
  (longshore, id) => longshore.send(id, 'And this?', { whenBusy: 'interrupt', messageId: makeId('msg', Date.now(), Math.random) }),
  (longshore, id) => longshore.send(id, 'This too.', { whenBusy: 'steer', messageId: makeId('msg', Date.now(), Math.random) }),
];

/** Begins conversations of all kinds, disturbs each at random moments, closes it, and checks what it leaves. Returns how many there were. */
export async function disturbAll(world: World, verdict: Verdict, over: AbortSignal): Promise<number> {
  let begun = 0;
  const lane = async () => {
    while (!over.aborted) {
      const id = `interrupted-${(begun += 1)}`;
      verdict.add(...(await disturb(world, id)).map(({ rule, what }) => ({ rule, what: `${id}: ${what}` })));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return begun;
}

/** Begins a conversation, makes some wishes, and closes it, whatever it does then. */
async function disturb(world: World, id: string): Promise<Problem[]> {
  const { longshore, random, records, counter } = world;
  const [agent, { turns }] = oneOf(random.kinds, Object.entries(KINDS));
  const giveUp = AbortSignal.timeout(CLOSE_LIMIT_MS);
  try {
    await insist(giveUp, () => longshore.start({ agent, user: 'ann', message: turns[0]?.message ?? '', conversationId: id }));
    for (let wish = 0; wish < WISHES; wish += 1) {
      await sleep(between(random.kinds, ...WAIT_MS));
      const make = oneOf(random.kinds, ALL_WISHES);
      await insist(giveUp, () => make(longshore, id));
    }
    await insist(giveUp, () => longshore.close(id));
    await untilClosed(world, id, giveUp);
  } catch (error) {
    const { state } = await longshore.status(id).catch(() => ({ state: 'not known' }));
    return [{ rule: 'lost', what: `${String(error)}; it is ${state}` }];
  }
  const all = [id, ...(await records.below(id)).map((below) => below.id)];
  const ended = await Promise.all(all.map((one) => records.of(one)));
  return ended.flatMap((one) => problemsWithEndings(one, (callId) => counter.requests.get(callId) ?? 0));
}

async function untilClosed({ longshore, records }: World, id: string, giveUp: AbortSignal): Promise<void> {
  const isClosed = async () => {
    const { state } = await insist(giveUp, () => longshore.status(id));
    return state === 'closed' && (await records.below(id)).every((below) => below.state === 'closed');
  };
  while (!(await isClosed())) await sleep(LOOK_EVERY_MS, undefined, { signal: giveUp });
}
