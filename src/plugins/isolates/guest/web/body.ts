import { blobBytes, GuestBlob, isBlob } from './blob.ts';
import { encodeForm, GuestFormData } from './form-data.ts';
import { bytesOf, decodeUtf8, encodeUtf8 } from './text-codecs.ts';
import { GuestURLSearchParams } from './url.ts';
import { stringOf } from './string-of.ts';

export interface BodyContent {
  bytes: Uint8Array;
  /** The content type that the body itself has. */
  type?: string;
}

/** The bytes of any value that may be a body; undefined where there is none. */
export function bodyContentOf(body: unknown): BodyContent | undefined {
  if (body === undefined || body === null) return undefined;
  if (isBlob(body)) return { bytes: blobBytes(body), ...(body.type && { type: body.type }) };
  if (body instanceof GuestFormData) return encodeForm(body);
  if (body instanceof GuestURLSearchParams) return { bytes: encodeUtf8(stringOf(body)), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  const bytes = bytesOf(body);
  return bytes ? { bytes } : { bytes: encodeUtf8(stringOf(body)), type: 'text/plain;charset=UTF-8' };
}

/** The common part of requests and responses: a body that is read once, as a whole. */
export class GuestBody {
  readonly #content: BodyContent | undefined;
  readonly #type: () => string;
  #used = false;

  constructor(content: BodyContent | undefined, type: () => string) {
    this.#content = content;
    this.#type = type;
  }

  get bodyUsed(): boolean {
    return this.#used;
  }

  async bytes(): Promise<Uint8Array> {
    return this.#take();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(this.#take()).buffer;
  }

  async blob(): Promise<GuestBlob> {
    return new GuestBlob([this.#take()], { type: this.#type() });
  }

  async text(): Promise<string> {
    return decodeUtf8(this.#take());
  }

  async json(): Promise<unknown> {
    return JSON.parse(decodeUtf8(this.#take())) as unknown;
  }

  async formData(): Promise<GuestFormData> {
    if (!this.#type().startsWith('application/x-www-form-urlencoded')) throw new TypeError('Only a URL-encoded form can be read as FormData here');
    const form = new GuestFormData();
    for (const [name, value] of new GuestURLSearchParams(decodeUtf8(this.#take()))) form.append(name, value);
    return form;
  }

  /** The content of a copy; the original stays readable. */
  protected share(): BodyContent | undefined {
    if (this.#used) throw new TypeError('Body is unusable: it has already been read');
    return this.#content;
  }

  #take(): Uint8Array {
    const content = this.share();
    this.#used = content !== undefined;
    return content?.bytes.slice() ?? new Uint8Array();
  }
}

harden(GuestBody);
