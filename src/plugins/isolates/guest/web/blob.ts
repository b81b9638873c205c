import { bytesOf, decodeUtf8, encodeUtf8 } from './text-codecs.ts';
import { stringOf } from './string-of.ts';

let bytesIn: (blob: GuestBlob) => Uint8Array;

/** Bytes with a type, held in memory; it has no streams. */
export class GuestBlob {
  static {
    bytesIn = (blob) => blob.#bytes;
  }

  readonly #bytes: Uint8Array;
  readonly #type: string;

  constructor(parts: Iterable<unknown> = [], options: { type?: unknown } = {}) {
    this.#bytes = joinedBytes([...parts].map(partOf));
    const type = stringOf(options?.type ?? '');
    this.#type = /[^\u0020-\u007E]/.test(type) ? '' : type.toLowerCase();
  }

  get size(): number {
    return this.#bytes.length;
  }

  get type(): string {
    return this.#type;
  }

  slice(start?: number, end?: number, type?: string): GuestBlob {
    return new GuestBlob([this.#bytes.slice(start, end)], { type: type ?? '' });
  }

  async bytes(): Promise<Uint8Array> {
    return this.#bytes.slice();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(this.#bytes).buffer;
  }

  async text(): Promise<string> {
    return decodeUtf8(this.#bytes);
  }

  get [Symbol.toStringTag](): string {
    return 'Blob';
  }
}

/** A blob with a name, as used in forms. `lastModified` is 0 where it is not given, because there is no clock here. */
export class GuestFile extends GuestBlob {
  readonly #name: string;
  readonly #lastModified: number;

  constructor(parts: Iterable<unknown>, name: unknown, options: { type?: unknown; lastModified?: unknown } = {}) {
    super(parts, options);
    this.#name = stringOf(name);
    this.#lastModified = Number(options?.lastModified ?? 0);
  }

  get name(): string {
    return this.#name;
  }

  get lastModified(): number {
    return this.#lastModified;
  }

  override get [Symbol.toStringTag](): string {
    return 'File';
  }
}

export function isBlob(value: unknown): value is GuestBlob {
  return value instanceof GuestBlob;
}

export function blobBytes(blob: GuestBlob): Uint8Array {
  return bytesIn(blob);
}

export function joinedBytes(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function partOf(part: unknown): Uint8Array {
  return isBlob(part) ? bytesIn(part) : (bytesOf(part) ?? encodeUtf8(stringOf(part)));
}

harden(GuestBlob);
harden(GuestFile);
