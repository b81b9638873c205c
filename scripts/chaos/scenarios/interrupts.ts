import { disturbAll } from '../disturb.ts';
import { SHORT_RUNS, type Scenario } from '../scenario.ts';
import { strangeEffects } from '../strange-effects.ts';
import { killAtRandom } from './kills.ts';

const KILL_MS = [3_000, 10_000] as const;

export const interrupts: Scenario = {
  summary:
    'Turns are interrupted, cancelled, paused and joined by messages, and conversations taken back, forked and closed, at random moments, while workers and HTTP services are killed (kill -9).',
  minutes: 2,
  rules: ['lost', 'doubled', 'result', 'reported'],
  spares: true,
  temporal: SHORT_RUNS,
  workers: 2,
  async run(world, { verdict, say, minutes }) {
    const over = AbortSignal.timeout(minutes * 60_000);
    const killing = killAtRandom(world, over, say, KILL_MS);
    const begun = await disturbAll(world, verdict, over);
    const killed = await killing;
    verdict.add(...(await strangeEffects(world)));
    say(`${begun} conversations were interrupted and closed; ${killed.worker} workers and ${killed.service} services were killed`);
  },
};
