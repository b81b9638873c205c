import { isStoredMedia, nameOfMedia } from '../../contracts/attachments/media.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { Store } from '../../store/store.ts';

interface Parts {
  args: { conversationId: string };
  store: Pick<Store, 'media'>;
}

/** Characters of base 64 up to which an image or a file stays in the transcript itself. */
const MOST_INLINE = 4_096;

/** Stores the bytes of images and files of a result beside the transcript, which refers to them. The same bytes again are stored once. */
export async function keepMedia(parts: Parts, content: ContentPart[]): Promise<ContentPart[]> {
  const kept: ContentPart[] = [];
  for (const part of content) kept.push(await keep(parts, part));
  return kept;
}

async function keep({ args: { conversationId }, store }: Parts, part: ContentPart): Promise<ContentPart> {
  if (part.type === 'text') return part;
  // What a plugin says about it is not believed.
  if (isStoredMedia(part)) return (await store.media.find(conversationId, part.blob)) ?? text(`${nameOfMedia(part)}: it is no attachment of this conversation`);
  if (part.data.length <= MOST_INLINE) return part;
  const data = Buffer.from(part.data, 'base64');
  try {
    return await store.media.keep(conversationId, { data, mediaType: part.mediaType, ...(part.type === 'file' && { name: part.name }) }, 'result');
  } catch (error) {
    if (!isFailure(error, 'ATTACHMENTS_FULL')) throw error;
    return text(
      `${nameOfMedia(part)} of ${data.byteLength} bytes was left out: this conversation has as many bytes of attachments as it may (${error.values['limit']}).`,
    );
  }
}

function text(said: string): ContentPart {
  return { type: 'text', text: said };
}
