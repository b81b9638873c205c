/** An image or a file whose bytes are stored beside the conversation, under the SHA-256 of them. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type StoredMedia = {
  type: 'image' | 'file';
  /** Of an image: as its bytes say. Of a file: as the sender said, unless the bytes say otherwise. */
  mediaType: string;
  name?: string;
  /** `sha256:` and 64 hexadecimal digits: the id of the attachment. */
  blob: string;
  bytes: number;
};

/** What an event tells of an attachment. */
export interface AttachmentFacts {
  /** Names it in its conversation: `GET /v1/conversations/:id/attachments/:attachmentId` downloads it. */
  attachmentId: string;
  name: string;
  mediaType: string;
  bytes: number;
}

/** An attachment of a message: its name and its bytes. */
export interface AttachmentContent {
  name: string;
  mediaType: string;
  data: Uint8Array;
}

const MIB = 1024 * 1024;
/** What a message may have, and what is given to a model at once. */
export const ATTACHMENT_LIMITS = {
  ofMessage: 10,
  bytes: 10 * MIB,
  bytesOfMessage: 20 * MIB,
  bytesOfConversation: 200 * MIB,
  /** Characters of a name. */
  name: 200,
  /** The newest images and documents of a conversation, up to so many bytes, are in a prompt. */
  bytesOfPrompt: 20 * MIB,
  /** The newest so many. */
  ofPrompt: 50,
  /** Characters of a text file that a prompt has. */
  text: 50_000,
} as const;

/** The tool that writes an attachment into the sandbox. */
export const SAVE_TOOL = 'attachments:save';

const BLOB = /^sha256:[0-9a-f]{64}$/;

export function isBlob(value: unknown): value is string {
  return typeof value === 'string' && BLOB.test(value);
}

export function isStoredMedia(part: { type: string }): part is StoredMedia {
  return 'blob' in part;
}

/** What stands for an image or a file where only texts are shown. */
export function nameOfMedia(part: { type: string; mediaType: string; name?: string }): string {
  return part.name === undefined ? `[${part.type} ${part.mediaType}]` : `[${part.type} ${JSON.stringify(part.name)} ${part.mediaType}]`;
}
