import { GuestAbortSignal } from './abort.ts';
import { bodyContentOf, GuestBody, type BodyContent } from './body.ts';
import { GuestHeaders } from './headers.ts';
import { GuestURL } from './url.ts';
import { stringOf } from './string-of.ts';

export interface RequestInit {
  method?: unknown;
  headers?: unknown;
  body?: unknown;
  redirect?: unknown;
  signal?: unknown;
}

let contentIn: (request: GuestRequest) => BodyContent | undefined;

/** A request that is not yet sent. */
export class GuestRequest extends GuestBody {
  static {
    contentIn = (request) => request.share();
  }

  readonly url: string;
  readonly method: string;
  readonly headers: GuestHeaders;
  readonly redirect: string;
  /** Of every request, as on the platform: code may listen to it without looking. */
  readonly signal: unknown;

  constructor(input: unknown, init: RequestInit = {}) {
    const from: Partial<GuestRequest> = input instanceof GuestRequest ? input : {};
    const content = contentFor(input, init);
    super(content, () => this.headers.get('content-type') ?? '');
    this.url = from.url ?? new GuestURL(input).href;
    this.method = methodOf(init.method ?? from.method ?? 'GET');
    if (content && /^(?:GET|HEAD)$/.test(this.method)) throw new TypeError('A request with the method GET or HEAD cannot have a body');
    this.headers = headersFor(init.headers ?? from.headers, content);
    this.redirect = stringOf(init.redirect ?? from.redirect ?? 'follow');
    this.signal = signalOf(init.signal === undefined ? from.signal : init.signal);
  }

  get body(): null {
    return null;
  }

  clone(): GuestRequest {
    return new GuestRequest(this);
  }

  get [Symbol.toStringTag](): string {
    return 'Request';
  }
}

function contentFor(input: unknown, { body }: RequestInit): BodyContent | undefined {
  if (body !== undefined && body !== null) return bodyContentOf(body);
  return input instanceof GuestRequest ? requestContent(input) : undefined;
}

function headersFor(given: unknown, content: BodyContent | undefined): GuestHeaders {
  const headers = new GuestHeaders(given);
  if (content?.type && !headers.has('content-type')) headers.set('content-type', content.type);
  return headers;
}

/** Also that of another library will do. Anything else would fail only after the request was sent. */
function signalOf(signal: unknown): unknown {
  if (signal === undefined || signal === null) return new GuestAbortSignal();
  const { aborted, addEventListener } = signal as Partial<GuestAbortSignal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return signal;
  throw new TypeError('The signal of a request has to be an AbortSignal');
}

function methodOf(method: unknown): string {
  const name = stringOf(method);
  return /^(?:get|head|post|put|delete|options|patch)$/i.test(name) ? name.toUpperCase() : name;
}

/** The content of a request that is about to be sent. */
export function requestContent(request: GuestRequest): BodyContent | undefined {
  return contentIn(request);
}

harden(GuestRequest);
