import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, propagation } from '@opentelemetry/api';
import { baseAddress } from '../../common/base-address.ts';
import { spread } from './spread.ts';
import { ERRORS } from '../../contracts/error-table/error-rows.ts';
import { failure, isFailure, isKnownCode, LongshoreError, unknownFailure } from '../../contracts/errors.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import type { Json } from '../../contracts/json.ts';
import { inDoubt, isUnanswered, noteUnanswered, wasNotSent } from './doubt.ts';

export interface HttpLinkOptions {
  /** Address of the service, such as `https://longshore.example`. */
  url: string;
  apiKey: string;
}

export interface HttpRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  body?: object;
  /** Sent as it is, in place of `body`. */
  stream?: ReadableStream<Uint8Array>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** It may be sent twice without another effect. Default: a GET, and a POST, which `json` sends with an Idempotency-Key of its own. */
  isRepeatable?: boolean;
}

/** Requests to the service of one caller. */
export interface HttpLink {
  /** Sends a request and returns the JSON of its answer, which the service describes in its OpenAPI document. Repeats it when the service stops or cannot be reached, unless it could take effect twice. */
  json(path: string, request?: HttpRequest): Promise<unknown>;
  /** Sends a request whose answer is read as it comes. */
  open(path: string, request: HttpRequest): Promise<Response>;
  /** Reads the JSON of an answer. @throws SERVICE_UNREACHABLE when it breaks off, or is none: what answers there is no Longshore */
  read(answer: Response, signal?: AbortSignal): Promise<unknown>;
  /** @throws SERVICE_UNREACHABLE when the answer is something else than this media type */
  requireType(answer: Response, type: string): Promise<void>;
  /** The error of a request that changes something, which says so if that may have been done. */
  doubted(error: unknown): unknown;
  /** The bytes of an answer, as they come. @throws SERVICE_UNREACHABLE when it breaks off */
  bytes(answer: Response, signal?: AbortSignal): AsyncGenerator<Uint8Array>;
}

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;
/** A service that was killed during a request leaves its key taken for a minute. */
const TAKEN_LIMIT_MS = 90_000;
const TAKEN_PAUSE_MS = 1_000;
/** Where a limit does not say when there will be room. */
const LIMIT_PAUSE_MS = 1_000;
const LONGEST_LIMIT_MS = 60_000;
/** Why a request is given up whose answer stopped to come. */
export class Silence extends Error {}
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export function createHttpLink({ url, apiKey }: HttpLinkOptions): HttpLink {
  const open: HttpLink['open'] = async (path, { method = 'GET', body, stream, headers = {}, signal }) => {
    const init: RequestInit = {
      method,
      headers: { ...traceHeaders(), authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      ...(stream && { body: stream, duplex: 'half' as const }),
      ...(signal && { signal }),
      // A POST would go on as a GET, and a request to another address without its key.
      redirect: 'manual',
    };
    const answer = await fetch(`${baseAddress(url)}${checked(path)}`, init).catch((error: unknown) => unreachable(error, signal));
    if (answer.ok) return answer;
    if (REDIRECTS.has(answer.status)) throw await redirected(answer, url);
    throw failureOf(answer.status, await textOf(answer, signal), url);
  };
  const unreachable = (error: unknown, signal: AbortSignal | undefined): never => {
    // Iterations that their callers have ended do not look at it.
    if (signal?.aborted === true && !(signal.reason instanceof Silence)) throw failure('CLIENT_CLOSED', {}, error);
    const failed = failure('SERVICE_UNREACHABLE', { url, problem: causeOf(error) }, error);
    throw wasNotSent(error as Error) ? failed : noteUnanswered(failed);
  };
  const textOf = (answer: Response, signal: AbortSignal | undefined) => answer.text().catch((error: unknown) => unreachable(error, signal));
  const strange = (status: number, cause?: unknown) =>
    failure('SERVICE_UNREACHABLE', { url, problem: `it answered ${status}, and not as Longshore does` }, cause);
  const read: HttpLink['read'] = async (answer, signal) => {
    const text = await textOf(answer, signal);
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw strange(answer.status, error);
    }
  };
  return {
    open,
    read,
    doubted: (error) => (isUnanswered(error) ? inDoubt(error, url) : error),
    async requireType(answer, type) {
      if (answer.headers.get('content-type')?.startsWith(type)) return;
      await answer.body?.cancel();
      throw strange(answer.status);
    },
    async *bytes({ body }, signal) {
      try {
        for await (const piece of body ?? []) yield piece as Uint8Array;
      } catch (error) {
        unreachable(error, signal);
      }
    },
    json(path, given = {}) {
      const request = withKey(given);
      return repeated(url, request, async () => read(await open(path, request), request.signal));
    },
  };
}

/** Sends a request until it is answered, or its error will not pass. */
async function repeated<T>(url: string, { method = 'GET', signal, isRepeatable = method === 'GET' }: HttpRequest, send: () => Promise<T>): Promise<T> {
  const pauseAfter = pausesOf();
  for (let isDoubtful = false; ;) {
    try {
      return await send();
    } catch (error) {
      isDoubtful ||= method !== 'GET' && isUnanswered(error);
      const pauseMs = pauseAfter(error);
      if (!isRepeatable || pauseMs === undefined || signal?.aborted === true) throw isDoubtful ? inDoubt(error, url) : error;
      await sleep(spread(pauseMs), undefined, { signal }).catch(() => undefined);
    }
  }
}

/** An address with an id such as `..` is that of something else, however it is encoded. */
function checked(path: string): string {
  const id = (path.split('?', 1)[0] ?? '').split('/').find((part) => part === '.' || part === '..');
  if (id === undefined) return path;
  throw failure('INVALID_ARGUMENT', { what: 'id', problem: `nothing can have the id "${id}"`, fix: 'Give another' });
}

/** For one request: the pause after each error of it, in milliseconds; undefined when it is not to be repeated any more. */
function pausesOf(): (error: unknown) => number | undefined {
  const begun = performance.now();
  let failures = 0;
  return (error) => {
    // One that did not get its answer may still be in progress.
    if (failures > 0 && isFailure(error, 'IDEMPOTENCY_RUNNING')) return performance.now() - begun < TAKEN_LIMIT_MS ? TAKEN_PAUSE_MS : undefined;
    if (!isPassing(error)) return undefined;
    failures += 1;
    return failures < ATTEMPTS ? FIRST_PAUSE_MS * 2 ** failures : undefined;
  };
}

/** A POST takes effect once, however often it is sent. One that says that it is repeatable needs no key for that. */
function withKey(request: HttpRequest): HttpRequest {
  if (request.method !== 'POST' || request.isRepeatable !== undefined) return request;
  return { ...request, headers: { 'idempotency-key': randomUUID(), ...request.headers }, isRepeatable: true };
}

/** The trace that the caller is in. None, unless the program has set up OpenTelemetry. */
function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** Whether the same request may soon succeed, at this process of the service or another. */
function isPassing(error: unknown): boolean {
  if (!isFailure(error)) return false;
  return isKnownCode(error.code) ? error.code === 'SERVICE_UNREACHABLE' || error.code === 'SERVICE_AWAY' : error.retryable;
}

/**
 * Milliseconds after which a reader that has been let in asks again at the earliest: the service may be away, or still count a stream that was cut. Undefined when
 * that is of no use.
 */
export function askAgainAfter(error: unknown): number | undefined {
  if (isPassing(error)) return 0;
  if (!isFailure(error) || !isKnownCode(error.code) || ERRORS[error.code].httpStatus !== 429) return undefined;
  const { retryAfter } = error.values;
  return typeof retryAfter === 'number' ? Math.min(retryAfter * 1000, LONGEST_LIMIT_MS) : LIMIT_PAUSE_MS;
}

async function redirected(answer: Response, url: string): Promise<LongshoreError> {
  await answer.body?.cancel();
  const place = answer.headers.get('location') ?? '';
  const leads = URL.canParse(place, url) ? `, which leads to ${new URL(place, url).href}` : '';
  return failure('SERVICE_UNREACHABLE', { url, problem: `it answered ${answer.status}${leads}` });
}

/** The error that the service has told, as the client without HTTP throws it; one that only a newer version knows, in the words of the service. */
function failureOf(status: number, text: string, url: string): LongshoreError {
  const problem = tryParseForeign(text) as { type?: Json; code?: Json; values?: Json; detail?: Json; retryable?: Json } | undefined;
  const { code, detail, retryable, type } = problem ?? {};
  const values = typeof problem?.values === 'object' && !Array.isArray(problem.values) ? (problem.values as Record<string, string | number> | null) : null;
  if (typeof code === 'string' && values !== null) {
    if (isKnownCode(code)) return new LongshoreError(code, values);
    if (type === `urn:longshore:error:${code}` && typeof detail === 'string')
      return unknownFailure(code, values, { message: detail, retryable: retryable === true });
  }
  const strange = failure('SERVICE_UNREACHABLE', { url, problem: `it answered ${status}, and not as Longshore does` });
  // A proxy has not got the answer.
  return status >= 500 ? noteUnanswered(strange) : strange;
}

function causeOf(error: unknown): string {
  const { cause, message } = error as { cause?: { message?: string; code?: string }; message: string };
  return cause?.message || cause?.code || message;
}
