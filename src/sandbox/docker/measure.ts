import type { SandboxSample } from '../sandbox.ts';
import type { DockerContext } from './context.ts';

/** How many of a host's sandboxes are asked at once: the engine has other things to do. */
const AT_ONCE = 8;

/** What the running sandboxes of this host use. */
export async function measure({ engine, rows, hostId, installation, log }: DockerContext, { disk }: { disk: boolean }): Promise<SandboxSample[]> {
  const running = await rows.list({ hostId, states: ['running'] });
  const sizes = disk && running.length > 0 ? await engine.volumeSizes(installation) : new Map<string, number>();
  const samples: SandboxSample[] = [];
  const waiting = running.values();
  const work = async () => {
    // Shared by all: each takes the next.
    for (const { sandboxId, containerName, volumeName } of waiting) {
      try {
        const usage = await engine.usage(containerName);
        const diskBytes = sizes.get(volumeName);
        if (usage) samples.push({ sandboxId, ...usage, ...(diskBytes !== undefined && { diskBytes }) });
      } catch (error) {
        log.debug({ sandboxId, err: error }, 'a sandbox could not be measured');
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return samples;
}
