import { z } from 'zod';
import { failure } from '../../contracts/errors.ts';
import { isNot, value } from './parse.ts';
import { isWellFormed, notWellFormed } from './values.ts';

const KIND = 'a text, bytes (Uint8Array, ArrayBuffer, Blob) or a stream of bytes';

/** The parsed forms of content. */
export type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

/** Content of a file or an input, in all forms that JavaScript has for bytes. */
export const content: z.ZodType<Content> = value<unknown>((given) => {
  if (typeof given === 'string') return isWellFormed(given) ? undefined : notWellFormed(given);
  return isBytes(given) || isBlob(given) || isStream(given) ? undefined : isNot(given, KIND);
}).transform(toContent);

/** The same without streams. */
export const piece: z.ZodType<string | Uint8Array> = value<unknown>((given) => {
  if (typeof given === 'string') return isWellFormed(given) ? undefined : notWellFormed(given);
  return isBytes(given) ? undefined : isNot(given, 'a text or bytes (Uint8Array, ArrayBuffer)');
}).transform((given) => (typeof given === 'string' ? given : toBytes(given as ArrayBuffer | ArrayBufferView)));

function toContent(given: unknown): Content {
  if (typeof given === 'string') return given;
  if (isBytes(given)) return toBytes(given);
  if (isBlob(given)) return given.stream();
  return checkedPieces(given as AsyncIterable<unknown>);
}

/** Checks the tag, since an ArrayBuffer of another realm has another class. */
function isBytes(given: unknown): given is ArrayBuffer | ArrayBufferView {
  return ArrayBuffer.isView(given) || ['[object ArrayBuffer]', '[object SharedArrayBuffer]'].includes(Object.prototype.toString.call(given));
}

function toBytes(given: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(given) ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength) : new Uint8Array(given);
}

function isBlob(given: unknown): given is Blob {
  return (
    typeof given === 'object' && given !== null && typeof (given as Partial<Blob>).stream === 'function' && typeof (given as Partial<Blob>).size === 'number'
  );
}

function isStream(given: unknown): boolean {
  return typeof given === 'object' && given !== null && typeof (given as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function';
}

async function* checkedPieces(source: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const given of source) {
    if (typeof given === 'string') yield Buffer.from(given);
    else if (isBytes(given)) yield toBytes(given);
    else throw failure('INVALID_ARGUMENT', { what: 'A piece of the stream', ...isNot(given, 'a text or bytes (Uint8Array, ArrayBuffer)') });
  }
}
