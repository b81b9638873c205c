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
    if (isFailure(error, 'BLOB_NOT_FOUND')) throw damaged('it is not in the blob store');
    // What is damaged may also fail to unpack; its digest tells the reason better.
    if (isFailure(error, 'DOCKER_FAILED') && (await digestOf(blobs.get(blobId))) !== sha256) throw damaged('its digest does not match');
    throw error;
  }
  if (meter.sha256() !== sha256) throw damaged('its digest does not match');
}

async function digestOf(content: AsyncIterable<Buffer>): Promise<string> {
  const meter = new Meter();
  for await (const _chunk of meter.through(content));
  return meter.sha256();
}
