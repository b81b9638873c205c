import { containerNameOf } from '../src/sandbox/engine/labels.ts';
import { compare, timed, type Measurement } from './measure.ts';
import { toTier, type BenchParts } from './parts.ts';

const ROUNDS = 25;

/** Freezing a sandbox and thawing it, with all that is written down about it, against the engine's own pause and unpause of the same container. */
export async function measureFreezeThaw({ sandboxes, docker, stack }: BenchParts): Promise<Measurement[]> {
  const sandboxId = 'sbx_bench_freeze';
  await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  const container = docker.getContainer(containerNameOf(stack.config.LONGSHORE_INSTALLATION, sandboxId));
  const freeze = { subject: [] as number[], baseline: [] as number[] };
  const thaw = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    freeze.subject.push(await timed(() => toTier('frozen', sandboxes.freeze(sandboxId))));
    thaw.subject.push(await timed(() => toTier('running', sandboxes.wake(sandboxId))));
    freeze.baseline.push(await timed(() => container.pause()));
    thaw.baseline.push(await timed(() => container.unpause()));
  }
  await sandboxes.destroy(sandboxId);
  return [
    compare({ name: 'freeze', goal: 2, unit: 'ms', baselineIs: 'docker pause by dockerode' }, freeze),
    compare({ name: 'thaw', goal: 2, unit: 'ms', baselineIs: 'docker unpause by dockerode' }, thaw),
  ];
}
