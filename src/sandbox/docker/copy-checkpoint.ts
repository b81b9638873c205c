import type Docker from 'dockerode';
import { failure } from '../../contracts/errors.ts';
import { mapped } from './errors.ts';

export interface CheckpointCopy {
  /** Full ids of containers. */
  from: string;
  to: string;
  checkpoint: string;
  /** Of the container that copies; it needs `cp`. */
  helper: { name: string; image: string; labels: Record<string, string> };
  /** The engine's data directory, on the engine's machine. */
  dataDirectory: string;
}

/**
 * Engines restore from a container's own directory alone, so the checkpoint is copied there by a short-lived container without a network that sees
 * the checkpoints of these two containers and nothing else of the host. The bytes never pass through this process.
 */
export async function copyCheckpoint(docker: Docker, { from, to, checkpoint, helper, dataDirectory }: CheckpointCopy): Promise<void> {
  const action = `copy a checkpoint from container ${from} to ${to}`;
  await mapped(action, async () => {
    const container = await docker.createContainer({
      name: helper.name,
      Image: helper.image,
      Labels: helper.labels,
      User: '0:0',
      Cmd: ['cp', '-a', `/from/${checkpoint}`, '/to/'],
      HostConfig: {
        NetworkMode: 'none',
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges:true'],
        Binds: [`${dataDirectory}/containers/${from}/checkpoints:/from:ro`, `${dataDirectory}/containers/${to}/checkpoints:/to`],
      },
    });
    try {
      await container.start();
      const { StatusCode } = (await container.wait()) as { StatusCode: number };
      if (StatusCode !== 0) throw failure('DOCKER_FAILED', { action, problem: `cp ended with ${StatusCode}` });
    } finally {
      await container.remove({ force: true });
    }
  });
}
