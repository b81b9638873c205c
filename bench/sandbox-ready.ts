import { containerOptions } from '../src/sandbox/engine/docker/container-options.ts';
import { compare, timed, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

const ROUNDS = 12;

/** A fresh sandbox up to the end of its first command, against creating and starting the very same container. */
export async function measureSandboxReady({ sandboxes, docker, stack }: BenchParts): Promise<Measurement[]> {
  const samples = { subject: [] as number[], baseline: [] as number[] };
  const { LONGSHORE_INSTALLATION: installation, LONGSHORE_SANDBOX_IMAGE: image } = stack.config;
  for (let round = 0; round <= ROUNDS; round++) {
    const sandboxId = `sbx_bench_ready_${round}`;
    const subject = await timed(async () => {
      const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
      await handle.run('true');
    });
    await sandboxes.destroy(sandboxId);
    const name = `${installation}-plain-${round}`;
    const labels = { 'longshore.installation': installation };
    const spec = { name, image, volumeName: name, labels, memoryMb: 1024, cpus: 2, pids: 256, readOnlyRoot: true, runtime: { name: 'runc' as const } };
    const baseline = await timed(async () => {
      const container = await docker.createContainer(containerOptions(spec));
      await container.start();
    });
    await docker.getContainer(name).remove({ force: true });
    await docker.getVolume(name).remove();
    // The first round fills the caches of the engine and of this process.
    if (round === 0) continue;
    samples.subject.push(subject);
    samples.baseline.push(baseline);
  }
  return [compare({ name: 'sandbox-ready', goal: 1.2, unit: 'ms', baselineIs: 'create and start of the same container' }, samples)];
}
