import { setTimeout as sleep } from 'node:timers/promises';
import { isFailure, type ErrorCode } from '../../src/contracts/errors.ts';
import { makeId } from '../../src/contracts/ids.ts';
import { problemsWithEndings } from './check-endings.ts';
import { insist } from './insist.ts';
import { FEATURES } from './kinds/features.ts';
import { KINDS, type Kind } from './kinds/kinds.ts';
import { between, oneOf } from './random.ts';
import type { Problem, Verdict } from './verdict.ts';
import type { World } from './world.ts';

const LANES = 4;
const WISHES = 5;
/** Before each wish. */
const WAIT_MS = [100, 4_000] as const;
const CLOSE_LIMIT_MS = 240_000;
const LOOK_EVERY_MS = 200;

type Wish = (longshore: World['longshore'], disturbed: Disturbed) => Promise<unknown>;

/** A conversation that is disturbed. */
interface Disturbed {
  id: string;
  kind: Kind;
  /** Its forks. */
  forks: Set<string>;
}

/** What may end a turn, hold it, begin another one, or go back, in any order. */
const ALL_WISHES: readonly Wish[] = [
  (longshore, { id }) => longshore.interrupt(id),
  (longshore, { id }) => longshore.pause(id, { mode: 'now' }),
  (longshore, { id }) => longshore.resume(id),
  (longshore, { id }) => longshore.cancel(id),
  (longshore, { id }) => longshore.send(id, 'And this?', { whenBusy: 'interrupt', messageId: newMessageId() }),
  (longshore, { id }) => longshore.send(id, 'This too.', { whenBusy: 'steer', messageId: newMessageId() }),
  (longshore, { id, kind: { turns } }) => longshore.send(id, turns.at(-1)?.message ?? 'And then?', { messageId: newMessageId() }),
  rewind,
  fork,
];
/** What may be refused at a moment: the conversation is as if it had not been asked. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['REWIND_REFUSED', 'CHECKPOINT_FAILED', 'CHECKPOINT_NOT_FOUND', 'FORK_REFUSED', 'FORK_FILES_UNKNOWN']);

/** Begins conversations of all kinds, disturbs each at random moments, closes it, and checks what it leaves. Returns how many there were. */
export async function disturbAll(world: World, verdict: Verdict, over: AbortSignal): Promise<number> {
  const kinds = Object.entries<Kind>({ ...KINDS, ...FEATURES }).filter(([name]) => world.kinds?.has(name) ?? true);
  let begun = 0;
  const lane = async () => {
    while (!over.aborted) {
      const id = `interrupted-${(begun += 1)}`;
      const [agent, kind] = oneOf(world.random.kinds, kinds);
      verdict.add(...(await disturb(world, agent, { id, kind, forks: new Set() })).map(({ rule, what }) => ({ rule, what: `${id} (${agent}): ${what}` })));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return begun;
}

/** Begins a conversation, makes some wishes, and closes it and its forks, whatever they do then. */
async function disturb(world: World, agent: string, disturbed: Disturbed): Promise<Problem[]> {
  const { longshore, random, records, counter } = world;
  const { id, kind, forks } = disturbed;
  const giveUp = AbortSignal.timeout(CLOSE_LIMIT_MS);
  const ids = () => [id, ...forks];
  try {
    await insist(giveUp, () => longshore.start({ agent, user: 'ann', message: kind.turns[0]?.message ?? '', conversationId: id }));
    for (let wish = 0; wish < WISHES; wish += 1) {
      await sleep(between(random.kinds, ...WAIT_MS));
      const make = oneOf(random.kinds, ALL_WISHES);
      await insist(giveUp, () => make(longshore, disturbed)).catch(unlessRefused);
    }
    for (const one of ids()) await insist(giveUp, () => longshore.close(one)).catch(unlessFailed);
    for (const one of ids()) await untilClosed(world, one, giveUp);
  } catch (error) {
    const states = await Promise.all(ids().map((one) => longshore.status(one).then(({ state }) => `${one} is ${state}`, String)));
    return [{ rule: 'lost', what: `${String(error)}; ${states.join(', ')}` }];
  }
  const below = await Promise.all(ids().map((one) => records.below(one)));
  const ended = await Promise.all([...ids(), ...below.flat().map((one) => one.id)].map((one) => records.of(one)));
  return ended.flatMap((one) => problemsWithEndings(one, (callId) => counter.requests.get(callId) ?? 0));
}

/** Goes back to the oldest checkpoint, if there is one. */
async function rewind(longshore: World['longshore'], { id }: Disturbed): Promise<void> {
  const [oldest] = await longshore.checkpoints(id);
  if (!oldest) return;
  await longshore.rewind(id, oldest.checkpointId).catch(async (error: unknown) => {
    if (!isFailure(error, 'REWIND_UNCONFIRMED')) throw error;
    await longshore.rewind(id, oldest.checkpointId, { confirm: String(error.values['confirm']) });
  });
}

/** Forks it as it is now. One whose files cannot be copied closes by itself. */
async function fork(longshore: World['longshore'], { id, kind, forks }: Disturbed): Promise<void> {
  const conversationId = `${id}-fork-${forks.size + 1}`;
  await longshore.fork(id, { conversationId, files: 'now', message: kind.turns[0]?.message });
  forks.add(conversationId);
}

function unlessRefused(error: unknown): void {
  if (!isFailure(error) || !REFUSALS.has(error.code)) throw error;
}

function unlessFailed(error: unknown): void {
  if (!isFailure(error, 'CONVERSATION_CLOSED')) throw error;
}

function newMessageId(): string {
  return makeId('msg', Date.now(), Math.random);
}

async function untilClosed({ longshore, records }: World, id: string, giveUp: AbortSignal): Promise<void> {
  const isClosed = async () => {
    const { state } = await insist(giveUp, () => longshore.status(id));
    return state === 'closed' && (await records.below(id)).every((below) => below.state === 'closed');
  };
  while (!(await isClosed())) await sleep(LOOK_EVERY_MS, undefined, { signal: giveUp });
}
