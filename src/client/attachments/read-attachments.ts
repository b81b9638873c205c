import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { types } from 'node:util';
import { z } from 'zod';
import { textSchema } from '../../common/arguments.ts';
import { showValue } from '../../common/show-value.ts';
import { ATTACHMENT_LIMITS, type AttachmentContent } from '../../contracts/attachments/media.ts';
import { mediaTypeOf } from '../../contracts/attachments/media-type.ts';
import { failure } from '../../contracts/errors.ts';
import { unstorable } from '../../contracts/visible-text.ts';
import type { Attachment } from './attachment-types.ts';

const { ofMessage, bytes: MOST_BYTES, bytesOfMessage, name: LONGEST_NAME } = ATTACHMENT_LIMITS;
const LONGEST_PATH = 4096;
const LONGEST_TYPE = 200;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** What separates parts of paths, and controls. */
const NO_NAME = /[/\\\p{Cc}]/u;
const SMALLER = 'Attach less, or put the file where the agent can fetch it';

const mediaType = z.string().max(LONGEST_TYPE, `give a media type of at most ${LONGEST_TYPE} characters`).optional();
/** Buffers of another realm are no instances of this one's. */
const bytes = z.custom<Uint8Array | string>((value) => typeof value === 'string' || types.isUint8Array(value), {
  error: 'it is neither bytes nor a text',
  params: { fix: 'Give a Uint8Array, or base 64' },
});
const one = z
  .strictObject({ name: z.string().optional(), mediaType, data: bytes.optional(), path: textSchema(LONGEST_PATH).optional() })
  .refine((given) => (given.path === undefined) !== (given.data === undefined), {
    error: 'it has not one of data and path',
    params: { fix: 'Give one of them' },
  })
  .refine((given) => given.path !== undefined || given.name !== undefined, { error: 'it has no name', params: { fix: 'Give one' } });

export const attachmentList = z
  .array(one)
  .max(ofMessage, `give at most ${ofMessage} attachments with a message`)
  .transform((list) => list as Attachment[]);

/** Reads the bytes, and checks names and sizes, before anything is stored. @throws ATTACHMENT_INVALID naming the attachment and the limit */
export async function readAttachments(given: readonly Attachment[] = []): Promise<AttachmentContent[]> {
  const read: AttachmentContent[] = [];
  let total = 0;
  for (const [index, attachment] of given.entries()) {
    const what = `attachments.${index}`;
    const content = await contentOf(what, attachment);
    total += content.data.byteLength;
    if (total > bytesOfMessage) throw refused(what, `the attachments of the message have more than ${bytesOfMessage} bytes together`, SMALLER);
    read.push(content);
  }
  return read;
}

async function contentOf(what: string, attachment: Attachment): Promise<AttachmentContent> {
  const name = checkedName(what, attachment.name ?? ('path' in attachment ? basename(attachment.path) : ''));
  const data = 'path' in attachment ? await readOwnFile(what, attachment.path) : bytesOf(what, attachment.data);
  if (data.byteLength > MOST_BYTES) throw tooLarge(what, data.byteLength);
  return { name, mediaType: mediaTypeOf(data, attachment.mediaType).mediaType, data };
}

/** A name is a single part of a path: it may become that of a file. */
function checkedName(what: string, name: string): string {
  const fix = 'Give the name of a file, without a directory';
  if (name === '' || name === '.' || name === '..' || NO_NAME.test(name)) throw refused(what, `its name is ${showValue(name)}`, fix);
  if (name.length > LONGEST_NAME) throw refused(what, `its name has ${name.length} characters, and ${LONGEST_NAME} are allowed`, fix);
  const problem = unstorable(name);
  if (problem !== undefined) throw refused(what, `its name has ${problem}`, fix);
  return name;
}

function bytesOf(what: string, data: Uint8Array | string): Uint8Array {
  if (typeof data !== 'string') return data;
  // Measured before anything is decoded.
  const size = Math.floor((data.length * 3) / 4);
  if (size > MOST_BYTES + 2) throw tooLarge(what, size);
  if (data.length % 4 !== 0 || !BASE64.test(data)) throw refused(what, 'its data is no base 64', 'Give base 64 with padding, without line breaks');
  return Buffer.from(data, 'base64');
}

async function readOwnFile(what: string, path: string): Promise<Uint8Array> {
  try {
    // Opening a pipe would wait for somebody who writes into it.
    const found = await stat(path);
    if (!found.isFile()) throw refused(what, `${showValue(path)} is no regular file`, 'Name a file');
    if (found.size > MOST_BYTES) throw tooLarge(what, found.size);
    await using file = await open(path, 'r');
    return await file.readFile();
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw refused(what, message, 'Name a file that can be read');
  }
}

function tooLarge(what: string, size: number): Error {
  return refused(what, `it has ${size} bytes, and ${MOST_BYTES} are allowed`, SMALLER);
}

function refused(what: string, problem: string, fix: string): Error {
  return failure('ATTACHMENT_INVALID', { what, problem, fix });
}
