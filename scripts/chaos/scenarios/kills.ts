import { setTimeout as sleep } from 'node:timers/promises';
import { FEATURES } from '../kinds/features.ts';
import { KINDS } from '../kinds/kinds.ts';
import { play } from '../play.ts';
import { between } from '../random.ts';
import { SHORT_RUNS, type Run, type Scenario } from '../scenario.ts';
import { strangeEffects } from '../strange-effects.ts';
import { openReceiver } from '../webhooks/receiver.ts';
import type { World } from '../world.ts';

const LANES = 4;
const CONVERSATION_LIMIT_MS = 180_000;
/** Between two kills. The short ones also hit the recovery from the one before. */
const PAUSE_MS = [500, 5_000] as const;
const SHARE_OF_WORKERS = 0.7;

export const kills: Scenario = {
  summary: 'Workers and HTTP services are killed (kill -9) at random moments of conversations.',
  minutes: 2,
  rules: ['lost', 'doubled', 'transcript', 'result', 'reported'],
  spares: true,
  temporal: SHORT_RUNS,
  workers: 2,
  async run(world, { verdict, say, minutes }) {
    const receiver = await world.owned(() => openReceiver(world));
    const over = AbortSignal.timeout(minutes * 60_000);
    const killing = killAtRandom(world, over, say, PAUSE_MS);
    const { conversations, calls, events } = await play(world, verdict, {
      lanes: LANES,
      over,
      limitMs: CONVERSATION_LIMIT_MS,
      kinds: { ...KINDS, ...FEATURES },
    });
    const killed = await killing;
    verdict.add(...(await strangeEffects(world)), ...(await receiver.problems()));
    say(`${killed.worker} workers and ${killed.service} services were killed; ${conversations} conversations had ${calls} calls and ${events} events`);
  },
};

/** @param pauses milliseconds between two kills: the least and the most */
export async function killAtRandom(
  { crew, random }: World,
  over: AbortSignal,
  say: Run['say'],
  pauses: readonly [number, number],
): Promise<{ worker: number; service: number }> {
  const killed = { worker: 0, service: 0 };
  for (;;) {
    await sleep(between(random.faults, ...pauses), undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return killed;
    const kind = random.faults() < SHARE_OF_WORKERS ? 'worker' : 'service';
    const pid = await crew.kill(kind);
    killed[kind] += 1;
    say(`killed ${kind} ${pid}`);
  }
}
