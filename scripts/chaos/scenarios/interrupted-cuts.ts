import { setTimeout as sleep } from 'node:timers/promises';
import { cutOff, lose } from '../faults/break-ways.ts';
import { disturbAll } from '../disturb.ts';
import { between } from '../random.ts';
import { SHORT_RUNS, type Run, type Scenario } from '../scenario.ts';
import { strangeEffects } from '../strange-effects.ts';
import type { World } from '../world.ts';

const QUIET_MS = [1_000, 4_000] as const;
/** Short ones end before an attempt does; the longest ends heartbeats. */
const OUTAGES_MS = [500, 2_000, 5_000, 20_000] as const;

export const interruptedCuts: Scenario = {
  summary: 'The same as in `interrupts`, while Postgres and Temporal are cut off for up to 20 s, and connections are lost, in place of kills.',
  minutes: 2,
  rules: ['lost', 'doubled', 'result', 'reported'],
  spares: false,
  temporal: SHORT_RUNS,
  workers: 2,
  async run(world, { verdict, say, minutes }) {
    const over = AbortSignal.timeout(minutes * 60_000);
    const breaking = breakAtRandom(world, over, say);
    const begun = await disturbAll(world, verdict, over);
    const outages = await breaking;
    verdict.add(...(await strangeEffects(world)));
    const lost = world.ways.postgres.dropped() + world.ways.temporal.dropped();
    say(`${begun} conversations were interrupted and closed; there were ${outages} outages, and ${lost} connections were lost`);
  },
};

async function breakAtRandom(world: World, over: AbortSignal, say: Run['say']): Promise<number> {
  const { faults } = world.random;
  let outages = 0;
  for (;;) {
    await sleep(between(faults, ...QUIET_MS), undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return outages;
    if (faults() < 0.5) {
      await lose(world, say);
    } else {
      say(await cutOff(world, OUTAGES_MS));
      outages += 1;
    }
  }
}
