/** An answer as the worker gives it; `body` is base 64. */
export interface Answer {
  status: number;
  statusText: string;
  url: string;
  redirected: boolean;
  headers: [string, string][];
  body: string;
}

/** Headers of an answer, by lower-case name. */
class GuestHeaders {
  readonly #values: Map<string, string>;

  constructor(pairs: [string, string][]) {
    this.#values = new Map(pairs);
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  forEach(each: (value: string, name: string) => void): void {
    for (const [name, value] of this.#values) each(value, name);
  }

  entries(): [string, string][] {
    return [...this.#values];
  }

  keys(): string[] {
    return [...this.#values.keys()];
  }

  values(): string[] {
    return [...this.#values.values()];
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return this.entries()[Symbol.iterator]();
  }
}

/** The part of the standard Response that an answer with its whole body needs. */
class GuestResponse {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: GuestHeaders;
  readonly #bytes: Uint8Array;
  #used = false;

  constructor({ status, statusText, url, redirected, headers, body }: Answer) {
    this.status = status;
    this.statusText = statusText;
    this.url = url;
    this.redirected = redirected;
    this.headers = new GuestHeaders(headers);
    this.#bytes = fromBase64(body);
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get bodyUsed(): boolean {
    return this.#used;
  }

  async bytes(): Promise<Uint8Array> {
    if (this.#used) throw new TypeError('Body is unusable: it has already been read');
    this.#used = true;
    return this.#bytes;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(await this.bytes()).buffer;
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text()) as unknown;
  }
}

harden(GuestHeaders);
harden(GuestResponse);

/** What `fetch` gives inside a compartment. */
export function responseOf(answer: Answer): GuestResponse {
  return harden(new GuestResponse(answer));
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** A copy, since small buffers of the platform share their memory. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'base64'));
}
