import type { StoredMedia } from '../../contracts/attachments/media.ts';
import type { Attachment, DownloadedAttachment } from '../attachments/attachment-types.ts';
import { readAttachments } from '../attachments/read-attachments.ts';
import type { HttpLink } from './http-link.ts';

/** The field of a message's body: files are read here, and only their bytes are sent. */
export async function attachmentsOf(given: readonly Attachment[] | undefined): Promise<{ attachments?: object[] }> {
  const contents = await readAttachments(given);
  if (contents.length === 0) return {};
  return {
    attachments: contents.map(({ name, mediaType, data }) => ({
      name,
      mediaType,
      data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
    })),
  };
}

/** @param conversation the path of the conversation */
export async function httpAttachment(link: HttpLink, conversation: string, attachmentId: string): Promise<DownloadedAttachment> {
  const path = `${conversation}/attachments/${encodeURIComponent(attachmentId)}`;
  const facts = (await link.json(`${path}?info=true`)) as StoredMedia;
  const pieces: Uint8Array[] = [];
  for await (const piece of link.bytes(await link.open(path, {}))) pieces.push(piece);
  return { ...facts, data: new Uint8Array(Buffer.concat(pieces)) };
}
