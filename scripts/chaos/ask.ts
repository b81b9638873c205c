import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFailure } from '../../src/contracts/errors.ts';
import { insist, isPassing } from './insist.ts';
import { PULSE } from './kinds/kinds.ts';
import type { Verdict } from './verdict.ts';
import type { World } from './world.ts';

const ASK_MS = 1_000;
const ASKED_MS = 60_000;

/** A caller that does not insist. */
export interface Asker {
  /** Starts a conversation each second, for so long. */
  askFor(lengthMs: number): Promise<void>;
  /** Sends the requests that were refused again, so that nothing of the first attempt is left. */
  askAgain(): Promise<void>;
  /** What it was told, and how often, as a text. */
  told(): string;
}

export function createAsker(world: World, verdict: Verdict): Asker {
  const refusals = new Map<string, number>();
  let refused: string[] = [];
  return {
    async askFor(lengthMs) {
      for (const end = performance.now() + lengthMs; performance.now() < end; await sleep(ASK_MS)) {
        const id = `asked-${randomUUID()}`;
        if (!(await ask(world, id, refusals, verdict))) refused.push(id);
      }
    },
    async askAgain() {
      const again = refused;
      refused = [];
      await Promise.all(again.map((id) => insist(AbortSignal.timeout(ASKED_MS), () => begin(world, id))));
    },
    told: () => [...refusals].map(([what, count]) => `${what} ${count} times`).join(', ') || 'nothing else than usual',
  };
}

async function begin({ longshore }: World, conversationId: string): Promise<void> {
  const { message } = PULSE.pulse.turns[0]!;
  await longshore.start({ agent: 'pulse', user: 'ann', conversationId, message, closeWhenDone: true });
}

/** False when it was refused. */
async function ask(world: World, id: string, refusals: Map<string, number>, verdict: Verdict): Promise<boolean> {
  try {
    await begin(world, id);
    return true;
  } catch (error) {
    const cause = isFailure(error, 'SERVICE_AWAY') ? ` (${error.values['cause']})` : '';
    const told = isFailure(error) ? `${error.code}${cause}` : String(error);
    refusals.set(told, (refusals.get(told) ?? 0) + 1);
    if (!isPassing(error) || cause.includes('INTERNAL')) verdict.add({ rule: 'told', what: `a client was told ${told}: ${String(error)}` });
    return false;
  }
}
