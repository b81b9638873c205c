import { setTimeout as sleep } from 'node:timers/promises';
import { cutOff, lose } from '../faults/break-ways.ts';
import { FEATURES } from '../kinds/features.ts';
import { KINDS } from '../kinds/kinds.ts';
import { describeRecovery, judgeRecovery, measureRecovery, type Recovery } from '../measure-recovery.ts';
import { play } from '../play.ts';
import { between } from '../random.ts';
import type { Run, Scenario } from '../scenario.ts';
import { seconds } from '../seconds.ts';
import { strangeEffects } from '../strange-effects.ts';
import type { World } from '../world.ts';

const LANES = 4;
const CONVERSATION_LIMIT_MS = 300_000;
const QUIET_MS = [2_000, 6_000] as const;
/** Short outages fall between two attempts; long ones exceed time limits. */
const OUTAGES_MS = [1_000, 3_000, 10_000, 30_000] as const;
const RECOVERY_LIMIT_MS = 10_000;

export const cuts: Scenario = {
  summary: 'Postgres and Temporal are cut off for up to 30 s, silent or at once, and connections are lost before or after a statement was received.',
  minutes: 3,
  rules: ['lost', 'doubled', 'transcript', 'result', 'reported', 'recovery'],
  spares: false,
  workers: 2,
  async run(world, { verdict, say, minutes }) {
    const over = AbortSignal.timeout(minutes * 60_000);
    const breaking = breakAtRandom(world, over, say);
    const { conversations, calls, events } = await play(world, verdict, {
      lanes: LANES,
      over,
      limitMs: CONVERSATION_LIMIT_MS,
      kinds: { ...KINDS, ...FEATURES },
    });
    const { outages, drops } = await breaking;
    verdict.add(...(await strangeEffects(world)));
    for (const outage of outages) judgeRecovery(verdict, outage, { limitMs: RECOVERY_LIMIT_MS, after: outage.what });
    const longest = (of: 'newMs' | 'oldMs') => seconds(Math.max(0, ...outages.map((outage) => outage[of])));
    say(`${outages.length} outages and ${drops} lost connections; ${conversations} conversations had ${calls} calls and ${events} events`);
    say(`longest recovery: ${longest('newMs')} until a new conversation was answered, ${longest('oldMs')} until all that were under way went on`);
  },
};

interface Outage extends Recovery {
  what: string;
}

async function breakAtRandom(world: World, over: AbortSignal, say: Run['say']): Promise<{ outages: Outage[]; drops: number }> {
  const { random, ways } = world;
  const outages: Outage[] = [];
  while (!over.aborted) {
    await sleep(between(random.faults, ...QUIET_MS), undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) break;
    if (random.faults() < 0.5) await lose(world, say);
    else outages.push(await cutOffAndRecover(world, say));
  }
  return { outages, drops: ways.postgres.dropped() + ways.temporal.dropped() };
}

async function cutOffAndRecover(world: World, say: Run['say']): Promise<Outage> {
  const what = await cutOff(world, OUTAGES_MS);
  const recovery = await measureRecovery(world);
  say(`${what}: ${describeRecovery(recovery)}`);
  return { what, ...recovery };
}
