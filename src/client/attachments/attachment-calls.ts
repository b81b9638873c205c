import { failure } from '../../contracts/errors.ts';
import type { ConversationRow, Store } from '../../store/store.ts';
import type { DownloadedAttachment } from './attachment-types.ts';

/** An attachment of the conversation, with its bytes. @throws ATTACHMENT_NOT_FOUND */
export async function readAttachment(
  { media }: Pick<Store, 'media'>,
  attachmentId: string,
  { conversationId }: Pick<ConversationRow, 'conversationId'>,
): Promise<DownloadedAttachment> {
  const [found, data] = await Promise.all([media.find(conversationId, attachmentId), media.read(conversationId, attachmentId)]);
  if (!found || !data) throw failure('ATTACHMENT_NOT_FOUND', { conversationId, attachmentId });
  return { ...found, data };
}
