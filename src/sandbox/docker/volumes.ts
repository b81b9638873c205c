import type Docker from 'dockerode';
import type { OwnedThing } from './engine.ts';
import { engineStatus, mapped } from './errors.ts';
import { LABEL } from './labels.ts';

export async function createVolume(docker: Docker, volume: string, labels: Record<string, string>): Promise<void> {
  await mapped(`create volume ${volume}`, () => docker.createVolume({ Name: volume, Driver: 'local', Labels: labels }));
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
      ...(volume.Labels[LABEL.snapshot] !== undefined && { snapshotId: volume.Labels[LABEL.snapshot] }),
      ...(volume.Labels[LABEL.role] !== undefined && { role: volume.Labels[LABEL.role] }),
      createdAtMs: Date.parse((volume as { CreatedAt?: string }).CreatedAt ?? ''),
    }));
  });
}
