/** The images that models of all providers take, by the bytes that they begin with. */
const IMAGES: readonly [mediaType: string, begins: (bytes: Uint8Array) => boolean][] = [
  ['image/png', (bytes) => has(bytes, 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ['image/jpeg', (bytes) => has(bytes, 0, [0xff, 0xd8, 0xff])],
  ['image/gif', (bytes) => has(bytes, 0, ascii('GIF87a')) || has(bytes, 0, ascii('GIF89a'))],
  ['image/webp', (bytes) => has(bytes, 0, ascii('RIFF')) && has(bytes, 8, ascii('WEBP'))],
];
export const PDF = 'application/pdf';
export const ANY_BYTES = 'application/octet-stream';
export const PLAIN_TEXT = 'text/plain';
/** As RFC 6838 has it, without parameters. */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/;

/** The type of an image that models take; undefined for anything else, whatever it is called. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  return IMAGES.find(([, begins]) => begins(bytes))?.[0];
}

/**
 * What an attachment is: of images and PDF, only the bytes say so. What is called one and is none counts as text, if it is text, or as bytes; what else the sender says
 * is believed.
 */
export function mediaTypeOf(bytes: Uint8Array, said: string | undefined): { type: 'image' | 'file'; mediaType: string } {
  const image = imageTypeOf(bytes);
  if (image !== undefined) return { type: 'image', mediaType: image };
  if (has(bytes, 0, ascii('%PDF-'))) return { type: 'file', mediaType: PDF };
  const called = said?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isBelieved = MEDIA_TYPE.test(called) && !called.startsWith('image/') && called !== PDF;
  if (isBelieved) return { type: 'file', mediaType: called };
  return { type: 'file', mediaType: textOf(bytes) === undefined ? ANY_BYTES : PLAIN_TEXT };
}

/** The text that the bytes are in UTF-8; undefined for other bytes. Bytes that are cut may end within a character. */
export function textOf(bytes: Uint8Array, isCut = false): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

function has(bytes: Uint8Array, at: number, wanted: readonly number[]): boolean {
  return wanted.every((byte, index) => bytes[at + index] === byte);
}

function ascii(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0));
}
