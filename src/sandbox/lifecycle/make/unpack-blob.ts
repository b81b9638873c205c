import { Readable } from 'node:stream';
import { isFailure } from '../../../contracts/errors.ts';
import { Meter, type StoredBlob } from '../../../store/blobs/blob-store.ts';
import type { CopyPlace } from '../../engine/engine.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { jobsOf } from '../base/engine-parts.ts';

/** Unpacks what was packed into a blob. @param damaged makes the error for a blob that is gone, or is not what was stored */
export async function unpackBlob(context: DockerContext, { blobId, sha256 }: StoredBlob, to: CopyPlace, damaged: (problem: string) => Error): Promise<void> {
  const { blobs } = context;
  const meter = new Meter();
  const content = Readable.from(meter.through(blobs.get(blobId)), { objectMode: false });
  try {
    await jobsOf(context).unpack(content, to);
  } catch (error) {
    // What is damaged may also fail to unpack; the blob tells the reason better.
    const isTheBlob = isFailure(error, 'BLOB_NOT_FOUND') || isFailure(error, 'DOCKER_FAILED');
    const problem = isTheBlob ? await problemOf(context, blobId, sha256) : undefined;
    throw problem === undefined ? error : damaged(problem);
  }
  if (meter.sha256() !== sha256) throw damaged(DIFFERS);
}

const DIFFERS = 'its digest does not match';

async function problemOf({ blobs }: DockerContext, blobId: string, sha256: string): Promise<string | undefined> {
  const meter = new Meter();
  try {
    for await (const _chunk of meter.through(blobs.get(blobId)));
  } catch (error) {
    if (isFailure(error, 'BLOB_NOT_FOUND')) return 'it is not in the blob store';
    throw error;
  }
  return meter.sha256() === sha256 ? undefined : DIFFERS;
}
