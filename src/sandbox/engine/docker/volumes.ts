import { randomBytes } from 'node:crypto';
import type Docker from 'dockerode';
import type { OwnedThing } from '../engine.ts';
import { engineStatus, mapped } from './errors.ts';
import { fenceOf, LABEL } from '../labels.ts';

/** @param limitMb only where `hasQuotas` is true. */
export async function createVolume(docker: Docker, volume: string, labels: Record<string, string>, limitMb?: number): Promise<void> {
  await mapped(`create volume ${volume}`, () => docker.createVolume({ Name: volume, Driver: 'local', Labels: labels, DriverOpts: volumeOptions(limitMb) }));
}

/** Options of the engine's volume driver `local`. */
export function volumeOptions(limitMb: number | undefined): Record<string, string> {
  return limitMb === undefined ? {} : { size: `${limitMb}m` };
}

/** Whether the storage can limit the size of volumes. Makes one to find out: the name of a file system does not tell whether it was mounted with quotas. */
export async function hasQuotas(docker: Docker): Promise<boolean> {
  const volume = `longshore-quota-probe-${randomBytes(6).toString('hex')}`;
  return mapped('make a volume of limited size', async () => {
    try {
      await docker.createVolume({ Name: volume, Driver: 'local', DriverOpts: volumeOptions(1) });
    } catch (error) {
      if (engineStatus(error) === undefined) throw error;
      return false;
    }
    return removeVolume(docker, volume);
  });
}

export async function volumeExists(docker: Docker, volume: string): Promise<boolean> {
  return mapped(`inspect volume ${volume}`, async () => {
    try {
      await docker.getVolume(volume).inspect();
      return true;
    } catch (error) {
      if (engineStatus(error) === 404) return false;
      throw error;
    }
  });
}

export async function removeVolume(docker: Docker, volume: string): Promise<boolean> {
  return mapped(`remove volume ${volume}`, async () => {
    try {
      await docker.getVolume(volume).remove();
      return true;
    } catch (error) {
      if (engineStatus(error) === 404) return true;
      if (engineStatus(error) === 409) return false;
      throw error;
    }
  });
}

export async function volumesOf(docker: Docker, installation: string): Promise<OwnedThing[]> {
  return mapped('list volumes', async () => {
    const { Volumes } = await docker.listVolumes({ filters: { label: [`${LABEL.installation}=${installation}`] } });
    return Volumes.map((volume) => ({
      name: volume.Name,
      sandboxId: volume.Labels[LABEL.sandbox] ?? '',
      fence: fenceOf(volume.Labels),
      ...(volume.Labels[LABEL.snapshot] !== undefined && { snapshotId: volume.Labels[LABEL.snapshot] }),
      ...(volume.Labels[LABEL.role] !== undefined && { role: volume.Labels[LABEL.role] }),
      createdAtMs: Date.parse((volume as { CreatedAt?: string }).CreatedAt ?? ''),
    }));
  });
}
