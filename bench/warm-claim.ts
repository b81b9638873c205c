import { setTimeout as sleep } from 'node:timers/promises';
import type { Measurement } from './measure.ts';
import { percentile, timed } from './measure.ts';
import type { BenchParts } from './parts.ts';

const ROUNDS = 30;
const OPTIONS = { memoryMb: 256 };
const GOAL_MS = 10;

/** A conversation's first sandbox out of the pool, up to the answer of its supervisor. The goal is a time and not a ratio. */
export async function measureWarmClaim({ sandboxes, store }: BenchParts): Promise<Measurement[]> {
  const samples: number[] = [];
  const pool = sandboxes.keepWarm?.([{ name: 'bench', options: OPTIONS, size: 2 }]);
  if (!pool) throw new Error('these sandboxes have no warm pool');
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      while ((await store.sandboxes.list({ states: ['warm'] })).length < 2) await sleep(20);
      const owner = { sandboxId: `sbx_bench_claim_${round}`, conversationId: `conv_bench_claim_${round}`, tenantId: 'bench' };
      let sandboxId = '';
      const took = await timed(async () => {
        sandboxId = (await sandboxes.open(owner, OPTIONS)).handle.sandboxId;
      });
      if (!sandboxId.startsWith('sbx_warm_')) throw new Error('the pool had no warm sandbox to give');
      await sandboxes.destroy(sandboxId);
      // The first round prepares the statements.
      if (round > 0) samples.push(took);
    }
  } finally {
    await pool[Symbol.asyncDispose]();
  }
  const [p50, p95] = [percentile(samples, 50), percentile(samples, 95)];
  const baseline = { what: `the goal of ${GOAL_MS} ms`, p50: GOAL_MS, p95: GOAL_MS };
  return [{ name: 'warm-claim', ratio: p50 / GOAL_MS, goal: 1, p50, p95, unit: 'ms', baseline }];
}
