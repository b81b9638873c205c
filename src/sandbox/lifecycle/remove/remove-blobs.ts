import type { StoredBlob } from '../../../store/blobs/blob-store.ts';
import type { SandboxBackup } from '../../../store/blobs/backups.ts';
import type { SandboxArchive } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from '../base/docker-context.ts';

type Parts = Pick<DockerContext, 'blobs' | 'log'>;

/** Removes an archive that no row names any more. On an error, the reaper removes it later. */
export async function removeBlobs(context: Parts, { files, memory }: SandboxArchive): Promise<void> {
  for (const blob of [files, ...(memory ? [memory] : [])]) await removeBlob(context, blob);
}

/** The same for parts of a backup. */
export async function removeBackup(context: Parts, { parts }: Pick<SandboxBackup, 'parts'>): Promise<void> {
  for (const { blob } of parts) await removeBlob(context, blob);
}

export async function removeBlob({ blobs, log }: Parts, { blobId }: StoredBlob): Promise<void> {
  await blobs.remove(blobId).catch((error: unknown) => log.warn({ blobId, err: error }, 'a blob is left to the reaper'));
}
