import type { SandboxArchive } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from '../base/docker-context.ts';

/** Removes an archive that no row names any more. On an error, the reaper removes it later. */
export async function removeBlobs({ blobs, log }: Pick<DockerContext, 'blobs' | 'log'>, { files, memory }: SandboxArchive): Promise<void> {
  for (const { blobId } of [files, ...(memory ? [memory] : [])]) {
    await blobs.remove(blobId).catch((error: unknown) => log.warn({ blobId, err: error }, 'a blob is left to the reaper'));
  }
}
