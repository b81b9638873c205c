import type { StoredMedia } from '../../contracts/attachments/media.ts';

/** An image or a file that belongs to a message. What it is, is seen by its bytes; `mediaType` says it of files that have no sign of their own, such as texts. */
export type Attachment =
  | { name: string; mediaType?: string | undefined; /** The bytes, or their base 64. */ data: Uint8Array | string }
  /** A file of this machine; its name is that of the file, unless another is given. */
  | { path: string; name?: string | undefined; mediaType?: string | undefined };

export interface AttachmentOptions {
  /** Images and files, up to 10 of 10 MiB each and of 20 MiB together. Fails with `ATTACHMENT_INVALID` or `ATTACHMENTS_FULL`. */
  attachments?: Attachment[] | undefined;
}

/** What a conversation has of an attachment, with its bytes. */
export interface DownloadedAttachment extends StoredMedia {
  data: Uint8Array;
}

export interface AttachmentCalls<Conversation> {
  /** Reads an attachment by its id, the `blob` of a part of the transcript. An unknown one fails with `ATTACHMENT_NOT_FOUND`. */
  attachment(conversation: Conversation, attachmentId: string): Promise<DownloadedAttachment>;
}

export interface ChatAttachments {
  /** As `Longshore.attachment`. */
  attachment(attachmentId: string): Promise<DownloadedAttachment>;
}
