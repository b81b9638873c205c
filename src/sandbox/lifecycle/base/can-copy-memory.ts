import type { DockerContext } from './context.ts';

/** Checkpoints can be copied where there are any, and where the operator lets a helper mount the engine's checkpoint directories. */
export async function canCopyMemory({ copyCheckpoints, capabilities }: DockerContext): Promise<boolean> {
  return copyCheckpoints && (await capabilities()).checkpoint;
}
