import type { ContainerUsage } from '../engine.ts';
import type Docker from 'dockerode';
import { failure } from '../../../contracts/errors.ts';
import { LABEL } from '../labels.ts';
import { engineStatus, mapped } from './errors.ts';

/** What the engine tells of a container, as far as it is the same for all its versions. */
interface Stats {
  cpu_stats?: { cpu_usage?: { total_usage?: number } };
  memory_stats?: { usage?: number; stats?: Record<string, number> };
  pids_stats?: { current?: number };
}

/** Undefined when the container does not run. */
export async function usageOf(docker: Docker, container: string): Promise<ContainerUsage | undefined> {
  return mapped(`measure container ${container}`, async () => {
    try {
      // With one-shot the engine does not wait a second for another reading.
      const options = { stream: false, 'one-shot': true } as const;
      return toUsage(await docker.getContainer(container).stats(options));
    } catch (error) {
      if (engineStatus(error) === 404 || engineStatus(error) === 409) return undefined;
      throw error;
    }
  });
}

function toUsage({ cpu_stats: cpu, memory_stats: memory, pids_stats: pids }: Stats): ContainerUsage | undefined {
  if (memory?.usage === undefined) return undefined;
  // The names of cgroups version 1 and 2.
  const idle = memory.stats?.['total_inactive_file'] ?? memory.stats?.['inactive_file'] ?? 0;
  return { cpuMs: (cpu?.cpu_usage?.total_usage ?? 0) / 1e6, memoryBytes: Math.max(0, memory.usage - idle), processes: pids?.current ?? 0 };
}

interface Usage {
  Volumes?: Docker.VolumeInspectInfo[] | null;
}

/** dockerode's own call names no type, and the engine would measure its images as well; old ones do so anyway. */
function askForVolumes({ modem }: Docker): Promise<Usage> {
  return new Promise((resolve, reject) => {
    // What follows the mark has to be given apart: of a path that ends otherwise the last letter is cut off.
    const options = { path: '/system/df?', options: { type: 'volume' }, method: 'GET', statusCodes: { 200: true, 500: 'server error' } };
    (modem as Modem).dial(options, (error, data) => (error ? reject(error) : resolve(data as Usage)));
  });
}

interface Modem {
  dial(options: object, callback: (error: Error | null, data: unknown) => void): void;
}

/** Bytes of each volume of an installation. Makes the engine read all of them. */
export async function volumeSizes(docker: Docker, installation: string): Promise<Map<string, number>> {
  return mapped('measure volumes', async () => {
    const found = await askForVolumes(docker);
    if (!Array.isArray(found.Volumes)) throw failure('DOCKER_FAILED', { action: 'measure volumes', problem: 'it told nothing of them' });
    const own = found.Volumes.filter((volume) => volume.Labels?.[LABEL.installation] === installation);
    return new Map(own.flatMap(({ Name, UsageData }) => (UsageData && UsageData.Size >= 0 ? [[Name, UsageData.Size] as const] : [])));
  });
}
