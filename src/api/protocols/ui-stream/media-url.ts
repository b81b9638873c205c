import type { StoredMedia } from '../../../contracts/attachments/media.ts';
import type { InlineMedia } from '../../../contracts/transcript.ts';

/** Where a page gets the bytes: in the address itself, or from the service, relative to it. */
export function urlOfMedia(conversationId: string, part: Pick<InlineMedia, 'data' | 'mediaType'> | Pick<StoredMedia, 'blob' | 'mediaType'>): string {
  if ('data' in part) return `data:${part.mediaType};base64,${part.data}`;
  return `/v1/conversations/${encodeURIComponent(conversationId)}/attachments/${encodeURIComponent(part.blob)}`;
}
