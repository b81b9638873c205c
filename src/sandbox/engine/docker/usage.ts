import type { ContainerUsage } from '../engine.ts';
import type Docker from 'dockerode';
import { failure } from '../../../contracts/errors.ts';
import { LABEL } from '../labels.ts';
import { engineStatus, mapped } from './errors.ts';

/** The fields about a container that all versions of the engine report. */
interface Stats {
  cpu_stats?: { cpu_usage?: { total_usage?: number } };
  memory_stats?: { usage?: number; stats?: Record<string, number> };
  pids_stats?: { current?: number };
}

/** What a container uses; undefined when it does not run. */
export async function usageOf(docker: Docker, container: string): Promise<ContainerUsage | undefined> {
  return mapped(`measure container ${container}`, async () => {
    try {
      // With one-shot the engine does not wait a second for a second reading.
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

/** dockerode's own call does not pass a type, so the engine would also measure its images. Old engines ignore the type. */
function askForVolumes({ modem }: Docker): Promise<Usage> {
  return new Promise((resolve, reject) => {
    // The query is given separately: docker-modem cuts off the last character of a path that contains its own query.
    const options = { path: '/system/df?', options: { type: 'volume' }, method: 'GET', statusCodes: { 200: true, 500: 'server error' } };
    (modem as Modem).dial(options, (error, data) => (error ? reject(error) : resolve(data as Usage)));
  });
}

interface Modem {
  dial(options: object, callback: (error: Error | null, data: unknown) => void): void;
}

/** Bytes of each volume of an installation. The engine reads all files of all volumes for this. */
export async function volumeSizes(docker: Docker, installation: string): Promise<Map<string, number>> {
  return mapped('measure volumes', async () => {
    const found = await askForVolumes(docker);
    if (!Array.isArray(found.Volumes)) throw failure('DOCKER_FAILED', { action: 'measure volumes', problem: 'its answer does not list them' });
    const own = found.Volumes.filter((volume) => volume.Labels?.[LABEL.installation] === installation);
    return new Map(own.flatMap(({ Name, UsageData }) => (UsageData && UsageData.Size >= 0 ? [[Name, UsageData.Size] as const] : [])));
  });
}
