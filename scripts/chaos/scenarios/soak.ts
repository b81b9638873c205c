import { play } from '../play.ts';
import type { Scenario } from '../scenario.ts';
import { sampleEvery } from '../soak/take-samples.ts';
import { growthOf, RULE, tableOf } from '../soak/growth.ts';

const LANES = 4;
const CONVERSATION_LIMIT_MS = 120_000;
const SAMPLES = 60;

export const soak: Scenario = {
  summary: `A steady load without faults. ${RULE}`,
  minutes: 5,
  rules: ['lost', 'doubled', 'transcript', 'result', 'reported', 'grown'],
  spares: false,
  workers: 2,
  async run(world, { verdict, say, minutes }) {
    const lengthMs = minutes * 60_000;
    const over = AbortSignal.timeout(lengthMs);
    const sampling = sampleEvery(world, lengthMs / SAMPLES, over);
    const { conversations, calls, events } = await play(world, verdict, { lanes: LANES, over, limitMs: CONVERSATION_LIMIT_MS });
    const samples = await sampling;
    for (const line of tableOf(samples)) say(line);
    verdict.add(...growthOf(samples).map((what) => ({ rule: 'grown' as const, what })));
    say(`${conversations} conversations had ${calls} calls and ${events} events`);
  },
};
