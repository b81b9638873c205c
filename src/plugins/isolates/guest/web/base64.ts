import { stringOf } from './string-of.ts';

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** Returns a copy, because small buffers of the platform share their memory. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'base64'));
}

/** Errors of the platform lead to objects that conversations would share, so these functions throw errors of the language. */
export const textOfBase64 = (text: unknown): string => translated(() => atob(stringOf(text)));
export const base64OfText = (text: unknown): string => translated(() => btoa(stringOf(text)));

function translated(work: () => string): string {
  try {
    return work();
  } catch {
    const error = new Error('The string to be decoded or encoded contains characters that base 64 does not have');
    Object.defineProperty(error, 'name', { value: 'InvalidCharacterError' });
    throw error;
  }
}
