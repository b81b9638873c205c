import { inTimeOr } from '../../src/common/in-time.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { problemsOf, type Ended } from './check-conversation.ts';
import { converse, type Spoken } from './converse.ts';
import { ALL_BELOW } from './kinds/all-kinds.ts';
import { KINDS, type Kind, type Kinds } from './kinds/kinds.ts';
import { startPerson } from './person.ts';
import { oneOf } from './random.ts';
import type { Problem, Verdict } from './verdict.ts';
import type { World } from './world.ts';

export interface Tally {
  conversations: number;
  calls: number;
  events: number;
}

export interface PlayOptions {
  /** Conversations at a time. */
  lanes: number;
  /** When it aborts, no more conversations begin. */
  over: AbortSignal;
  /** After so many, no more conversations begin either. */
  most?: number;
  /** Of a conversation, from its start. */
  limitMs: number;
  /** Those that are held, in place of all. */
  kinds?: Kinds;
  /** What breaks a rule. */
  problemsOf?: typeof problemsOf;
}

/** What is counted, and by what it is judged. */
type Book = Required<Pick<PlayOptions, 'problemsOf'>> & { tally: Tally };

const CLOSE_LIMIT_MS = 20_000;

/** Holds conversations of all kinds, some at a time, and checks each when it has ended. */
export async function play(world: World, verdict: Verdict, options: PlayOptions): Promise<Tally> {
  const { lanes, over, limitMs, kinds = KINDS, most = Infinity } = options;
  const book: Book = { problemsOf, ...options, tally: { conversations: 0, calls: 0, events: 0 } };
  await using _person = startPerson(world.longshore, (what) => verdict.add({ rule: 'reported', what }));
  const nextKind = rotation(world, kinds);
  let started = 0;
  const lane = async () => {
    while (!over.aborted && started < most) {
      const [name, kind] = nextKind();
      const id = `${name}-${(started += 1)}`;
      verdict.add(...(await hold(world, name, kind, id, limitMs, book)).map(({ rule, what }) => ({ rule, what: `${id}: ${what}` })));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return book.tally;
}

/** All kinds in a random order, then again in another one. */
function rotation({ random, kinds: only }: World, kinds: Kinds): () => [string, Kind] {
  const all = Object.entries(kinds).filter(([name]) => only?.has(name) ?? true);
  if (all.length === 0) throw new Error(`the scenario has none of these kinds: ${[...(only ?? [])].join(', ')}`);
  const left: [string, Kind][] = [];
  return () => {
    if (left.length === 0) left.push(...all);
    const next = oneOf(random.kinds, left);
    left.splice(left.indexOf(next), 1);
    return next;
  };
}

async function hold(world: World, name: string, kind: Kind, id: string, limitMs: number, book: Book): Promise<Problem[]> {
  const { longshore } = world;
  let spoken: Spoken;
  try {
    spoken = await converse(longshore, name, kind, id, limitMs);
  } catch (error) {
    const state = await inTimeOr(
      longshore.status(id).then(({ state, lastTurn }) => `it is ${state}, its last turn: ${JSON.stringify(lastTurn)}`),
      CLOSE_LIMIT_MS,
      'its status cannot be read',
    ).catch(String);
    // So that what it leaves is not reported a second time.
    await inTimeOr(longshore.close(id), CLOSE_LIMIT_MS, undefined).catch(() => undefined);
    return [{ rule: 'lost', what: `${error instanceof Error ? error.message : String(error)}; ${state}` }];
  }
  const problems = [...(await checkSpoken(world, kind, book, spoken)), ...(await checkBelow(world, id, kind, book))];
  if (spoken.fork === undefined) return problems;
  const ofFork = await checkSpoken(world, kind, book, spoken.fork, 1);
  return [...problems, ...ofFork.map(({ rule, what }) => ({ rule, what: `its fork: ${what}` }))];
}

async function checkSpoken(world: World, kind: Kind, book: Book, spoken: Spoken, inherited = 0): Promise<Problem[]> {
  const wrong = spoken.wrongReplies.map((what): Problem => ({ rule: 'reported', what }));
  return [...wrong, ...(await check(world, spoken.id, kind, book, { spoken, inherited }))];
}

async function check(
  world: World,
  id: string,
  kind: Kind,
  book: Book,
  { spoken, inherited = 0 }: { spoken?: Spoken; inherited?: number } = {},
): Promise<Problem[]> {
  const { counter, records } = world;
  const { tally } = book;
  const stored = await records.of(id);
  tally.conversations += 1;
  tally.calls += stored.calls.length;
  tally.events += stored.events.length;
  const ended: Ended = {
    ...stored,
    kind,
    inherited,
    ...(spoken && { read: spoken.read }),
    counted: (callId) => counter.requests.get(callId) ?? 0,
    isServed: (callId) => spoken?.served.has(callId) ?? false,
  };
  return book.problemsOf(ended);
}

/** Sub-agents have ended before the conversation that gave them their tasks; their own ends may take a moment longer. */
async function checkBelow(world: World, id: string, kind: Kind, book: Book): Promise<Problem[]> {
  if (kind.below === undefined) return [];
  const deadline = Date.now() + CLOSE_LIMIT_MS;
  let below = await world.records.below(id);
  while (below.some(({ state }) => state !== 'closed') && Date.now() < deadline) {
    await sleep(200);
    below = await world.records.below(id);
  }
  const agents = below.map(({ agent }) => agent);
  if (agents.toSorted().join() !== kind.below.toSorted().join()) return [{ rule: 'doubled', what: `below it there are: ${agents.join(', ')}` }];
  const problems: Problem[] = [];
  for (const child of below) {
    const found = await check(world, child.id, ALL_BELOW[child.agent] ?? { agent: {}, turns: [], marks: [] }, book);
    problems.push(...found.map(({ rule, what }) => ({ rule, what: `${child.agent} below it: ${what}` })));
  }
  return problems;
}
