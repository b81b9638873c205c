import { containerNameOf } from '../src/sandbox/docker/labels.ts';
import { compareWithLimit, type BenchmarkResult } from './measure.ts';
import type { BenchParts } from './parts.ts';
import { isHidden, proportionalSetSizeMib } from './process-memory.ts';

const LIMIT_MIB = 25;

/** What an idle sandbox with its supervisor holds in memory: the proportional set size of all its processes, one after the other alone on the machine. */
export async function measureIdleMemory({ sandboxes, docker, stack }: BenchParts): Promise<BenchmarkResult> {
  const sandboxId = 'sbx_bench_idle';
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  await handle.run('true');
  const name = containerNameOf(stack.config.LONGSHORE_INSTALLATION, sandboxId);
  try {
    const { Processes: rows } = (await docker.getContainer(name).top({ ps_args: '-eo pid' })) as { Processes: string[][] };
    const sizes = await Promise.all(rows.map(([pid]) => proportionalSetSizeMib(pid ?? '')));
    return [compareWithLimit({ name: 'idle-memory', unit: 'MiB', limit: LIMIT_MIB }, [sizes.reduce((sum, size) => sum + size, 0)])];
  } catch (error) {
    if (isHidden(error)) return { skipped: 'the memory of other processes can be read by root, on the machine of the engine' };
    throw error;
  } finally {
    await sandboxes.destroy(sandboxId);
  }
}
