import { isFailure } from '../../../contracts/errors.ts';
import type { DockerContext } from '../base/context.ts';

/** An archive may take as long until its row names it, in graces: a day. */
const BLOB_GRACES = 1440;

/** Removes blobs that no archived sandbox names: what is left of archives that were cut off, or have been brought back. */
export async function reapBlobs({ blobs, rows, reapGraceMs, log }: DockerContext): Promise<void> {
  try {
    const found = (await blobs.list()).filter(({ createdAtMs }) => Date.now() - createdAtMs >= reapGraceMs * BLOB_GRACES);
    if (found.length === 0) return;
    const archives = (await rows.list({ states: ['archived'] })).flatMap(({ archive }) =>
      archive ? [archive.files, ...(archive.memory ? [archive.memory] : [])] : [],
    );
    const named = new Set(archives.map(({ blobId }) => blobId));
    for (const { blobId } of found) {
      if (named.has(blobId)) continue;
      await blobs.remove(blobId);
      log.info({ blobId }, 'blob reaped');
    }
  } catch (error) {
    // A blob store that is away must not keep the engine from being tidied.
    if (!isFailure(error, 'BLOB_FAILED')) throw error;
    log.warn({ err: error }, 'the blob store could not be tidied');
  }
}
