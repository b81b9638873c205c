import type { AttachmentContent, StoredMedia } from '../../contracts/attachments/media.ts';
import type { Store } from '../../store/store.ts';

/** Stores the bytes of attachments with the conversation; the message refers to them. @throws ATTACHMENTS_FULL */
export async function keepAttachments(
  { media }: Pick<Store, 'media'>,
  conversationId: string,
  attachments: readonly AttachmentContent[],
): Promise<StoredMedia[]> {
  const kept: StoredMedia[] = [];
  for (const { name, mediaType, data } of attachments) {
    // The same bytes may have another name in another message.
    kept.push({ ...(await media.keep(conversationId, { name, mediaType, data }, 'message')), name });
  }
  return kept;
}
