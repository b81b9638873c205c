import type { SandboxHandle } from '../src/sandbox/api/sandbox.ts';
import { containerOptions } from '../src/sandbox/engine/docker/container-options.ts';
import { compare, timed, type BenchmarkResult, type Measurement } from './measure.ts';
import { toTier, type BenchParts } from './parts.ts';

const ROUNDS = 6;
const SIZES_MIB = [20, 200];

/** Putting a sandbox to disk and waking it with its processes, against creating and starting such a container from nothing, by turns. */
export async function measureWake(parts: BenchParts): Promise<BenchmarkResult> {
  const { checkpoint, problem } = await parts.sandboxes.capabilities();
  if (!checkpoint) return { skipped: problem ?? 'this engine makes no checkpoints' };
  // Fills the engine's caches.
  await coldStart(parts);
  const measurements: Measurement[] = [];
  for (const size of SIZES_MIB) measurements.push(...(await restAndWake(parts, size)));
  return measurements;
}

async function coldStart({ docker, stack }: BenchParts): Promise<number> {
  const { LONGSHORE_INSTALLATION: installation, LONGSHORE_SANDBOX_IMAGE: image } = stack.config;
  const name = `${installation}-cold`;
  const labels = { 'longshore.installation': installation };
  const spec = { name, image, volumeName: name, labels, memoryMb: 1024, cpus: 2, pids: 256, readOnlyRoot: true, runtime: { name: 'runc' as const } };
  const options = containerOptions(spec);
  const time = await timed(async () => {
    const container = await docker.createContainer({ ...options, HostConfig: { ...options.HostConfig, Runtime: 'runsc' } });
    await container.start();
  });
  await docker.getContainer(name).remove({ force: true });
  await docker.getVolume(name).remove();
  return time;
}

async function restAndWake(parts: BenchParts, sizeMib: number): Promise<Measurement[]> {
  const { sandboxes } = parts;
  const sandboxId = `sbx_bench_wake_${sizeMib}`;
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, { runtime: 'runsc', hibernateAfterMs: 1 });
  await holdMemory(handle, sizeMib);
  const cold: number[] = [];
  const hibernate = { subject: [] as number[], baseline: cold };
  const wake = { subject: [] as number[], baseline: cold };
  for (let round = 0; round < ROUNDS; round++) {
    hibernate.subject.push(await timed(() => toTier('hibernated', sandboxes.hibernate(sandboxId))));
    cold.push(await coldStart(parts));
    // It ends with the answer of the woken supervisor.
    wake.subject.push(await timed(() => toTier('running', sandboxes.wake(sandboxId))));
    await handle.run('true');
  }
  await sandboxes.destroy(sandboxId);
  const baselineIs = 'create and start of a gVisor container';
  return [
    compare({ name: `hibernate-${sizeMib}-mib`, unit: 'ms', baselineIs }, hibernate),
    compare({ name: `wake-${sizeMib}-mib`, ...(sizeMib === 20 && { goal: 1.5 }), unit: 'ms', baselineIs }, wake),
  ];
}

/** Random bytes: zeros would be left out of a checkpoint. */
async function holdMemory(handle: SandboxHandle, sizeMib: number): Promise<void> {
  const code = `import os; held = os.urandom(${sizeMib} << 20); len(held)`;
  await handle.runCode(code, { language: 'python', contextId: 'held' });
}
