import { fromBase64 } from './base64.ts';
import { bodyContentOf, GuestBody, type BodyContent } from './body.ts';
import { GuestHeaders } from './headers.ts';
import { GuestURL } from './url.ts';
import { stringOf } from './string-of.ts';

/** A response as the worker sends it; `body` is base 64. */
export interface SentResponse {
  status: number;
  statusText: string;
  url: string;
  redirected: boolean;
  headers: [string, string][];
  body: string;
}

interface ResponseInit {
  status?: unknown;
  statusText?: unknown;
  headers?: unknown;
}

interface Facts {
  url: string;
  redirected: boolean;
  type: string;
  content: BodyContent | undefined;
}

/** The part of the standard Response that a complete response needs. It has no streams: `body` is null. */
export class GuestResponse extends GuestBody {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly redirected: boolean;
  readonly type: string;
  readonly headers: GuestHeaders;

  constructor(body?: unknown, { status = 200, statusText = '', headers }: ResponseInit = {}, facts = fresh(bodyContentOf(body), status)) {
    const { content, url, redirected, type } = facts;
    super(content, () => this.headers.get('content-type') ?? '');
    this.status = Number(status);
    this.statusText = stringOf(statusText);
    this.url = url;
    this.redirected = redirected;
    this.type = type;
    this.headers = harden(new GuestHeaders(headers));
    if (content?.type && !this.headers.has('content-type')) this.headers.set('content-type', content.type);
  }

  static json(value: unknown, init: ResponseInit = {}): GuestResponse {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError('The value has no JSON');
    const response = new GuestResponse(text, init);
    if (!new GuestHeaders(init.headers).has('content-type')) response.headers.set('content-type', 'application/json');
    return response;
  }

  static error(): GuestResponse {
    return new GuestResponse(null, { status: 0 }, { url: '', redirected: false, type: 'error', content: undefined });
  }

  static redirect(url: unknown, status: unknown = 302): GuestResponse {
    if (![301, 302, 303, 307, 308].includes(Number(status))) throw new RangeError(`${stringOf(status)} is no status of a redirect`);
    return new GuestResponse(null, { status, headers: { location: new GuestURL(url).href } });
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get body(): null {
    return null;
  }

  clone(): GuestResponse {
    const { status, statusText, headers, url, redirected, type } = this;
    return new GuestResponse(undefined, { status, statusText, headers }, { url, redirected, type, content: this.share() });
  }

  get [Symbol.toStringTag](): string {
    return 'Response';
  }
}

/** The properties of a response that code makes itself. */
function fresh(content: BodyContent | undefined, status: unknown): Facts {
  const number = Number(status);
  if (Number.isInteger(number) && number >= 200 && number <= 599) return { url: '', redirected: false, type: 'default', content };
  throw new RangeError(`The status ${stringOf(status)} is not between 200 and 599`);
}

harden(GuestResponse);

/** The result of `fetch` inside a compartment. */
export function responseOf({ status, statusText, headers, url, redirected, body }: SentResponse): GuestResponse {
  const content = { bytes: fromBase64(body) };
  return harden(new GuestResponse(undefined, { status, statusText, headers }, { url, redirected, type: 'basic', content }));
}
