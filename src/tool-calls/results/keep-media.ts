import { isStoredMedia, nameOfMedia } from '../../contracts/attachments/media.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { Store } from '../../store/store.ts';

interface Parts {
  args: { conversationId: string };
  store: Pick<Store, 'media'>;
}

type Insist = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Characters of base 64 up to which an image or a file stays in the transcript itself. */
const MOST_INLINE = 4_096;

/**
 * Stores the bytes of images and files of a result beside the transcript, which refers to them. The same bytes again are stored once.
 * @param insist for a result that no later attempt would have: tries until the blob store takes it, or gives up. What it has not taken then is left out, and the result says so
 */
export async function keepMedia(parts: Parts, content: ContentPart[], insist?: Insist): Promise<ContentPart[]> {
  const kept: ContentPart[] = [];
  for (const part of content) kept.push(await keep(parts, part, insist));
  return kept;
}

async function keep({ args: { conversationId }, store }: Parts, part: ContentPart, insist: Insist | undefined): Promise<ContentPart> {
  if (part.type === 'text') return part;
  // What a plugin says about it is not believed.
  if (isStoredMedia(part)) return (await store.media.find(conversationId, part.blob)) ?? text(`${nameOfMedia(part)}: it is no attachment of this conversation`);
  if (part.data.length <= MOST_INLINE) return part;
  const data = Buffer.from(part.data, 'base64');
  const put = () => store.media.keep(conversationId, { data, mediaType: part.mediaType, ...(part.type === 'file' && { name: part.name }) }, 'result');
  const leftOut = (why: string) => text(`${nameOfMedia(part)} of ${data.byteLength} bytes was left out: ${why}.`);
  try {
    return await (insist === undefined ? put() : insist(put));
  } catch (error) {
    if (isFailure(error, 'ATTACHMENTS_FULL')) return leftOut(`this conversation has as many bytes of attachments as it may (${error.values['limit']})`);
    if (insist !== undefined && isBlobStoreAway(error)) return leftOut('the blob store did not take it');
    throw error;
  }
}

export function isBlobStoreAway(error: unknown): boolean {
  return isFailure(error, 'BLOB_FAILED');
}

function text(said: string): ContentPart {
  return { type: 'text', text: said };
}
