import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { SandboxSample } from '../../contracts/host-facts.ts';
import { checkpointSize } from '../engine/checkpoint-size.ts';
import type { DockerContext } from './base/docker-context.ts';

/** How many sandboxes of a host are measured at the same time; the limit keeps the engine free for other calls. */
const AT_ONCE = 8;

/** What the running sandboxes of this host use. With `disk`, also the size of their files, and what hibernated and stopped sandboxes use on disk. */
export async function measureSandboxes(context: DockerContext, { disk, sandboxId }: { disk: boolean; sandboxId?: string }): Promise<SandboxSample[]> {
  const { engine, rows, hostId, installation, log } = context;
  const all = await rows.list({ hostId, states: disk ? ['running', 'hibernated', 'stopped'] : ['running'] });
  const found = sandboxId === undefined ? all : all.filter((row) => row.sandboxId === sandboxId);
  const sizes = disk && found.length > 0 ? await engine.volumeSizes(installation) : new Map<string, number>();
  const samples: SandboxSample[] = [];
  const waiting = found.values();
  const work = async () => {
    // All runs of `work` share this iterator; each takes the next row.
    for (const row of waiting) {
      try {
        const sample =
          row.state === 'running' ? await sampleOf(context, row, sizes.get(row.volumeName)) : await atRest(context, row, sizes.get(row.volumeName));
        if (sample) samples.push(sample);
      } catch (error) {
        log.debug({ sandboxId: row.sandboxId, err: error }, 'a sandbox could not be measured');
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return samples;
}

async function sampleOf(
  { engine }: DockerContext,
  { sandboxId, containerName }: SandboxRow,
  diskBytes: number | undefined,
): Promise<SandboxSample | undefined> {
  const usage = await engine.usage(containerName);
  return usage && { sandboxId, ...usage, ...(diskBytes !== undefined && { diskBytes }) };
}

async function atRest({ engine }: DockerContext, row: SandboxRow, fileBytes: number | undefined): Promise<SandboxSample | undefined> {
  const { sandboxId, state, containerId } = row;
  if (fileBytes === undefined) return undefined;
  const hasMemory = state === 'hibernated' && containerId !== undefined;
  const memory = hasMemory ? await checkpointSize((await engine.facts()).dataDirectory, containerId) : 0;
  return { sandboxId, cpuMs: 0, memoryBytes: 0, processes: 0, diskBytes: fileBytes + (memory ?? 0) };
}
