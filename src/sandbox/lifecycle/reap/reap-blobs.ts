import { isFailure } from '../../../contracts/errors.ts';
import type { DockerContext } from '../base/docker-context.ts';

/** An archive or a backup may take this long until a row names it, in multiples of the grace: a day by default. */
const BLOB_GRACES = 1440;

/** Removes blobs that no row of a sandbox names: parts of archives and backups that were interrupted, have been unpacked or were replaced. */
export async function reapBlobs({ blobs, backups, reapGraceMs, log }: DockerContext): Promise<void> {
  try {
    const found = (await blobs.list()).filter(({ createdAtMs }) => Date.now() - createdAtMs >= reapGraceMs * BLOB_GRACES);
    if (found.length === 0) return;
    const named = new Set(await backups.blobIds());
    for (const { blobId } of found) {
      if (named.has(blobId)) continue;
      await blobs.remove(blobId);
      log.info({ blobId }, 'blob reaped');
    }
  } catch (error) {
    // When the blob store is unavailable, the reaper must still clean up the engine.
    if (!isFailure(error, 'BLOB_FAILED')) throw error;
    log.warn({ err: error }, 'the blob store could not be tidied');
  }
}
