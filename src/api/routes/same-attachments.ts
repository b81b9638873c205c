import { isDeepStrictEqual } from 'node:util';
import type { Attachment } from '../../client/attachments/attachment-types.ts';
import { readAttachments } from '../../client/attachments/read-attachments.ts';
import type { StoredMedia } from '../../contracts/attachments/media.ts';
import { blobOf } from '../../store/conversation/media.ts';

/** Whether a message that is stored has what a repetition of it gives: the same bytes under the same names. */
export async function haveSameAttachments(stored: readonly StoredMedia[], given: readonly Attachment[] | undefined): Promise<boolean> {
  const contents = await readAttachments(given);
  return isDeepStrictEqual(
    contents.map(({ name, data }) => [name, blobOf(data)]),
    stored.map(({ name, blob }) => [name, blob]),
  );
}
