import { QUICK } from '../kinds/kinds.ts';
import { play } from '../play.ts';
import { between, oneOf, type Random } from '../random.ts';
import type { Scenario } from '../scenario.ts';
import { strangeEffects } from '../strange-effects.ts';
import type { Disturbance } from '../faults/way.ts';

const LANES = 8;
const CONVERSATIONS = 500;
const CONVERSATION_LIMIT_MS = 120_000;
const SHARE = 0.05;
const LATE_MS = [200, 2_000] as const;

export const slips: Scenario = {
  summary: `Of all that workers and services say to Postgres, ${SHARE * 100} % is lost with its connection, before or after it was received, or arrives up to 2 s late. Ends after ${CONVERSATIONS} conversations, or`,
  minutes: 15,
  rules: ['lost', 'doubled', 'transcript', 'result', 'reported'],
  spares: false,
  workers: 2,
  async run(world, { verdict, say, minutes }) {
    const over = AbortSignal.timeout(minutes * 60_000);
    const slipping = slipsOf(world.random.faults);
    world.ways.postgres.disturb(slipping.next);
    const options = { lanes: LANES, over, most: CONVERSATIONS, limitMs: CONVERSATION_LIMIT_MS, kinds: QUICK };
    const { conversations, calls, events } = await play(world, verdict, options);
    world.ways.postgres.disturb(() => undefined);
    verdict.add(...(await strangeEffects(world)));
    const { said, lost, late } = slipping.counts;
    say(`of ${said} statements ${lost} were lost and ${late} late; ${conversations} conversations had ${calls} calls and ${events} events`);
  },
};

function slipsOf(random: Random): { next: () => Disturbance | undefined; counts: Record<'said' | 'lost' | 'late', number> } {
  const counts = { said: 0, lost: 0, late: 0 };
  const next = () => {
    counts.said += 1;
    if (random() >= SHARE) return undefined;
    const slip = oneOf(random, ['before', 'after', 'late', 'late'] as const);
    counts[slip === 'late' ? 'late' : 'lost'] += 1;
    return slip === 'late' ? between(random, ...LATE_MS) : slip;
  };
  return { next, counts };
}
