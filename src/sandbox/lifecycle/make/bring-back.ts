import { Readable } from 'node:stream';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { Meter } from '../../../store/blobs/blob-store.ts';
import type { BackupPart, SandboxBackup } from '../../../store/blobs/backups.ts';
import type { CopyPlace } from '../../engine/engine.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { jobsOf } from '../base/engine-parts.ts';

/** Makes the home of a sandbox in a new volume as it was at its newest backup. @throws BACKUP_DAMAGED */
export async function bringBackFiles(context: DockerContext, sandboxId: string, { at, parts }: SandboxBackup, to: CopyPlace): Promise<void> {
  const damaged = ({ blob }: BackupPart, problem: string) => failure('BACKUP_DAMAGED', { sandboxId, at, problem, blobId: blob.blobId });
  const checked = contentOf(context, parts, damaged);
  try {
    await jobsOf(context).bringBack(Readable.from(checked, { objectMode: false }), to);
  } catch (error) {
    // What is damaged may also fail to unpack; its digest tells the reason better.
    if (isFailure(error, 'DOCKER_FAILED')) for await (const _piece of contentOf(context, parts, damaged));
    throw error;
  }
}

async function* contentOf({ blobs }: DockerContext, parts: BackupPart[], damaged: (part: BackupPart, problem: string) => Error): AsyncGenerator<Buffer> {
  for (const part of parts) {
    const meter = new Meter();
    try {
      yield* meter.through(blobs.get(part.blob.blobId));
    } catch (error) {
      throw isFailure(error, 'BLOB_NOT_FOUND') ? damaged(part, 'it is not in the blob store') : error;
    }
    if (meter.sha256() !== part.blob.sha256) throw damaged(part, 'its digest does not match');
  }
}
