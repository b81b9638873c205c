import type { DockerContext } from './docker-context.ts';

/** Checkpoints can be copied when this host can make them and the operator permits a helper container that mounts the engine's checkpoint directories. */
export async function canCopyMemory({ copyCheckpoints, capabilities }: DockerContext): Promise<boolean> {
  return copyCheckpoints && (await capabilities()).checkpoint;
}
