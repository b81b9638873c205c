import { setTimeout as sleep } from 'node:timers/promises';
import { isFailure } from '../../../src/contracts/errors.ts';
import { FEATURES } from '../kinds/features.ts';
import { KINDS } from '../kinds/kinds.ts';
import { insist } from '../insist.ts';
import { play } from '../play.ts';
import { between, oneOf } from '../random.ts';
import { SHORT_RUNS, type Scenario } from '../scenario.ts';
import { strangeEffects } from '../strange-effects.ts';
import type { World } from '../world.ts';
import { killAtRandom } from './kills.ts';

const LANES = 4;
const CONVERSATION_LIMIT_MS = 240_000;
/** Between the beginnings of two pauses. */
const GAP_MS = [100, 1_000] as const;
/** Of one pause. */
const LENGTH_MS = [200, 2_000] as const;
/** Between two kills: seldom enough that most pauses meet a worker. */
const KILL_MS = [4_000, 12_000] as const;
const SHARE_OF_NOW = 0.7;

/** A turn whose sandbox still rests after a pause has no checkpoint. */
const { forked: _forked, rewound: _rewound, ...WITHOUT_CHECKPOINTS } = FEATURES;

export const pauses: Scenario = {
  summary: 'Conversations are paused and resumed at random moments, while now and then a worker or an HTTP service is killed (kill -9).',
  minutes: 2,
  rules: ['lost', 'doubled', 'transcript', 'result', 'reported'],
  spares: true,
  temporal: SHORT_RUNS,
  workers: 2,
  async run(world, { verdict, say, minutes }) {
    const over = AbortSignal.timeout(minutes * 60_000);
    const held = new AbortController();
    const onProblem = (error: unknown) => verdict.add({ rule: 'reported', what: `who pauses and resumes got the error: ${String(error)}` });
    const pausing = pauseAtRandom(world, over, held.signal, onProblem);
    const killing = killAtRandom(world, over, say, KILL_MS);
    const { conversations, calls, events } = await play(world, verdict, {
      lanes: LANES,
      over,
      limitMs: CONVERSATION_LIMIT_MS,
      kinds: { ...KINDS, ...WITHOUT_CHECKPOINTS },
    });
    held.abort();
    const [paused, killed] = await Promise.all([pausing, killing]);
    verdict.add(...(await strangeEffects(world)));
    say(
      `${paused} pauses, and ${killed.worker} workers and ${killed.service} services were killed; ${conversations} conversations had ${calls} calls and ${events} events`,
    );
  },
};

/** @param held aborts when all conversations have ended. Returns how many pauses there were. */
async function pauseAtRandom(world: World, over: AbortSignal, held: AbortSignal, onProblem: (error: unknown) => void): Promise<number> {
  const { longshore, random } = world;
  const begun: Promise<void>[] = [];
  while (!over.aborted) {
    const running = await insist(held, () => longshore.list({ state: 'running', limit: 50 }));
    if (running.length > 0) begun.push(pauseOnce(world, oneOf(random.faults, running).conversationId, held).catch(onProblem));
    await sleep(between(random.faults, ...GAP_MS));
  }
  await Promise.all(begun);
  // A request of a service that was killed may have come after the resume.
  while (!held.aborted) {
    const paused = await insist(held, () => longshore.list({ state: 'paused', limit: 50 })).catch(() => []);
    for (const { conversationId } of paused) await unlessEnded(insist(held, () => longshore.resume(conversationId))).catch(onProblem);
    await sleep(GAP_MS[1]);
  }
  return begun.length;
}

async function pauseOnce({ longshore, random }: World, id: string, held: AbortSignal): Promise<void> {
  const mode = random.faults() < SHARE_OF_NOW ? 'now' : 'step';
  await unlessEnded(insist(held, () => longshore.pause(id, { mode })));
  await sleep(between(random.faults, ...LENGTH_MS));
  await unlessEnded(insist(held, () => longshore.resume(id)));
}

/** The conversation may not have begun yet, or end at any moment; all of them end with the scenario. */
async function unlessEnded(request: Promise<void>): Promise<void> {
  await request.catch((error: unknown) => {
    const isThere = !isFailure(error, 'CONVERSATION_CLOSED') && !isFailure(error, 'CONVERSATION_UNSTARTED');
    if (isThere && !(error instanceof DOMException)) throw error;
  });
}
