import { isStoredMedia } from '../../contracts/attachments/media.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';

/** Parts of a result, where texts that follow each other count as one. */
export const MOST_PARTS = 100;
/** Characters of a name or a media type, which stand in prompts for what they name. */
const MOST_NAME = 200;

/** The parts of a result without what would be stored and counted as a part of each prompt, and could not be left out of one. Texts stay whole. */
export function boundedParts(content: readonly ContentPart[]): ContentPart[] {
  const parts = content.map(boundedPart);
  return parts.length <= MOST_PARTS ? parts : joined(parts);
}

function joined(content: readonly ContentPart[]): ContentPart[] {
  const parts: ContentPart[] = [];
  let texts: string[] = [];
  const end = (): void => {
    if (texts.length > 0) parts.push({ type: 'text', text: texts.join('\n') });
    texts = [];
  };
  for (const part of content) {
    if (part.type === 'text') {
      texts.push(part.text);
      continue;
    }
    end();
    parts.push(part);
  }
  end();
  return parts;
}

/** The same of one part. */
export function boundedPart(part: ContentPart): ContentPart {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const mediaType = cutMiddle(part.mediaType, MOST_NAME);
  if (isStoredMedia(part)) {
    const { type, name, blob, bytes } = part;
    return { type, mediaType, ...(name !== undefined && { name: cutMiddle(name, MOST_NAME) }), blob, bytes };
  }
  const { data } = part;
  return part.type === 'image' ? { type: 'image', mediaType, data } : { type: 'file', mediaType, name: cutMiddle(part.name, MOST_NAME), data };
}
