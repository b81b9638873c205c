import { stringOf } from './string-of.ts';

const { TextEncoder: PlatformEncoder, TextDecoder: PlatformDecoder } = globalThis;
const encoder = new PlatformEncoder();
const strict = new PlatformDecoder('utf-8', { fatal: false, ignoreBOM: true });

/** The platform's TextEncoder; its objects have no properties that lead to the platform's objects. */
export class GuestTextEncoder {
  get encoding(): string {
    return 'utf-8';
  }

  encode(text: unknown = ''): Uint8Array {
    return encodeUtf8(stringOf(text));
  }

  encodeInto(text: unknown, into: Uint8Array): { read: number; written: number } {
    const given = stringOf(text);
    try {
      const { read, written } = encoder.encodeInto(given, into);
      return { read, written };
    } catch {
      throw new TypeError('The second argument has to be a Uint8Array');
    }
  }
}

interface DecoderOptions {
  fatal?: unknown;
  ignoreBOM?: unknown;
}

/** The platform's TextDecoder without its objects, which lead to prototypes that conversations share. */
export class GuestTextDecoder {
  readonly #decoder: InstanceType<typeof PlatformDecoder>;

  constructor(label: unknown = 'utf-8', options: DecoderOptions = {}) {
    const { fatal, ignoreBOM } = options ?? {};
    try {
      this.#decoder = new PlatformDecoder(stringOf(label), { fatal: Boolean(fatal), ignoreBOM: Boolean(ignoreBOM) });
    } catch {
      throw new RangeError(`The encoding ${JSON.stringify(stringOf(label))} is not supported`);
    }
  }

  get encoding(): string {
    return this.#decoder.encoding;
  }

  get fatal(): boolean {
    return this.#decoder.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM;
  }

  decode(input?: unknown, options?: { stream?: unknown }): string {
    const stream = Boolean(options?.stream);
    const bytes = input === undefined ? new Uint8Array() : bytesOf(input);
    if (!bytes) throw new TypeError('Only an ArrayBuffer or a view of one can be decoded');
    try {
      return this.#decoder.decode(bytes, { stream });
    } catch {
      throw new TypeError(`The encoded data was not valid for encoding ${this.encoding}`);
    }
  }
}

export function encodeUtf8(text: string): Uint8Array {
  // A copy: the platform may return a part of memory that others share.
  return new Uint8Array(encoder.encode(text));
}

/** Decodes as `Response.text` does, which removes no byte order mark except that of UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = strict.decode(bytes);
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

const LENGTH = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength');

/**
 * A copy of the content of an ArrayBuffer or a view of one; undefined for anything else. Code may have added properties to the given object, so the platform
 * receives only copies.
 */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (isBuffer(value)) return new Uint8Array(value.slice(0));
  if (!ArrayBuffer.isView(value)) return undefined;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  return new Uint8Array(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
}

function isBuffer(value: unknown): value is ArrayBuffer {
  if (!(value instanceof ArrayBuffer)) return false;
  try {
    LENGTH?.get?.call(value);
    return true;
  } catch {
    return false;
  }
}

harden(GuestTextEncoder);
harden(GuestTextDecoder);
