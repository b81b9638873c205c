import { MOST_PATCH_BYTES, type Diff, type DiffMoment, type FileChange } from '../../contracts/checkpoints/diff.ts';
import { failure } from '../../contracts/errors.ts';
import type { OpenDiff } from './open-diff.ts';

/** Reads all of a comparison. @throws PATCH_TOO_LARGE */
export async function readDiff({ from, to, woken, parts }: OpenDiff, conversationId: string, withPatch: boolean): Promise<Diff> {
  const changes: FileChange[] = [];
  const patch = createPatch(conversationId);
  for await (const part of parts) {
    if ('change' in part) changes.push(part.change);
    else if ('patch' in part) patch.add(part.patch);
    else {
      const { at, ...summary } = part.end;
      const bytes = withPatch ? Buffer.concat([patchHead(conversationId, from, to), patch.whole()]) : undefined;
      return { from, to: to ?? { at }, woken, ...summary, changes, ...(bytes && { patch: bytes }) };
    }
  }
  throw failure('INTERNAL', { problem: 'a worker ended a comparison without its end' });
}

/** Collects a patch of limited size. */
export function createPatch(conversationId: string): { add(piece: Uint8Array): void; whole(): Buffer } {
  const pieces: Uint8Array[] = [];
  let size = 0;
  return {
    add(piece) {
      size += piece.length;
      if (size > MOST_PATCH_BYTES) throw failure('PATCH_TOO_LARGE', { conversationId, limit: MOST_PATCH_BYTES });
      pieces.push(piece);
    },
    whole: () => Buffer.concat(pieces),
  };
}

/** Lines that git reads over. */
export function patchHead(conversationId: string, from: DiffMoment, to: DiffMoment | undefined): Buffer {
  const told = to?.checkpointId === undefined ? 'the files as they were when this was made' : `checkpoint ${to.checkpointId} of ${to.at}`;
  return Buffer.from(`# Files of conversation ${conversationId}\n# from checkpoint ${from.checkpointId} of ${from.at}\n# to ${told}\n`);
}
