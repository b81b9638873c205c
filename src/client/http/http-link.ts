import { setTimeout as sleep } from 'node:timers/promises';
import { context, propagation } from '@opentelemetry/api';
import { baseAddress } from '../../common/base-address.ts';
import { ERRORS } from '../../contracts/error-table/error-rows.ts';
import { failure, isFailure, LongshoreError, type ErrorCode } from '../../contracts/errors.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import type { Json } from '../../contracts/json.ts';

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
  /** It may be sent twice without another effect. Default: a GET, and one with an Idempotency-Key. */
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
}

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;
/** A service that was killed during a request leaves its key taken for a minute. */
const TAKEN_LIMIT_MS = 90_000;
const TAKEN_PAUSE_MS = 1_000;

export function createHttpLink({ url, apiKey }: HttpLinkOptions): HttpLink {
  const open: HttpLink['open'] = async (path, { method = 'GET', body, stream, headers = {}, signal }) => {
    const init: RequestInit = {
      method,
      headers: { ...traceHeaders(), authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      ...(stream && { body: stream, duplex: 'half' as const }),
      ...(signal && { signal }),
    };
    const answer = await fetch(`${baseAddress(url)}${checked(path)}`, init).catch((error: unknown) => unreachable(error, signal));
    if (answer.ok) return answer;
    throw failureOf(answer.status, await textOf(answer, signal), url);
  };
  const unreachable = (error: unknown, signal: AbortSignal | undefined): never => {
    if (signal?.aborted === true) throw error;
    throw failure('SERVICE_UNREACHABLE', { url, problem: causeOf(error) }, error);
  };
  const textOf = (answer: Response, signal: AbortSignal | undefined) => answer.text().catch((error: unknown) => unreachable(error, signal));
  const read: HttpLink['read'] = async (answer, signal) => {
    const text = await textOf(answer, signal);
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw failure('SERVICE_UNREACHABLE', { url, problem: `it answered ${answer.status}, and not as Longshore does` }, error);
    }
  };
  return {
    open,
    read,
    async json(path, request = {}) {
      const isRepeatable = mayRepeat(request);
      const pauseAfter = pausesOf();
      for (;;) {
        try {
          return await read(await open(path, request), request.signal);
        } catch (error) {
          const pauseMs = pauseAfter(error);
          if (!isRepeatable || pauseMs === undefined || request.signal?.aborted === true) throw error;
          await sleep(pauseMs);
        }
      }
    },
  };
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

function mayRepeat({ method = 'GET', headers, isRepeatable = method === 'GET' || headers?.['idempotency-key'] !== undefined }: HttpRequest): boolean {
  return isRepeatable;
}

/** The trace that the caller is in. None, unless the program has set up OpenTelemetry. */
function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** Whether the same request may soon succeed, at this process of the service or another. */
export function isPassing(error: unknown): boolean {
  return error instanceof LongshoreError && (error.code === 'SERVICE_UNREACHABLE' || error.code === 'SERVICE_AWAY');
}

/** The error that the service has told, as the client without HTTP throws it. */
function failureOf(status: number, text: string, url: string): LongshoreError {
  const problem = tryParseForeign(text) as { code?: Json; values?: Json; detail?: Json } | undefined;
  const { code, values } = problem ?? {};
  if (typeof code === 'string' && Object.hasOwn(ERRORS, code) && typeof values === 'object' && values !== null && !Array.isArray(values)) {
    return new LongshoreError(code as ErrorCode, values as Record<string, string | number>);
  }
  return failure('SERVICE_UNREACHABLE', { url, problem: `it answered ${status}, and not as Longshore does` });
}

function causeOf(error: unknown): string {
  const { cause, message } = error as { cause?: { message?: string; code?: string }; message: string };
  return cause?.message || cause?.code || message;
}
