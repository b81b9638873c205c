import { excessOf, inexactNumberIn, tryParseForeign } from '../../contracts/foreign-json.ts';
import { ERRORS } from '../../contracts/error-table/error-rows.ts';
import { failure, isFailure, type ErrorCode, type LongshoreError } from '../../contracts/errors.ts';

/** An error as RFC 9457 has it, with the code of the error table. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  /** Whether the same request may succeed later without a change. */
  retryable: boolean;
  /** What the text is filled with, for programs. */
  values: Record<string, string | number>;
  /** The request's id in the log of the service. */
  request: string;
}

/** Errors whose text is for operators: it names addresses, files and variables of the installation. */
const INTERNAL = new Set<ErrorCode>([
  'INTERNAL',
  'POSTGRES_UNAVAILABLE',
  'POSTGRES_FULL',
  'TEMPORAL_UNAVAILABLE',
  'DATABASE_ELSEWHERE',
  'DATABASE_NEWER',
  'DATABASE_OLDER',
  'CONFIG_INVALID',
  'ISSUER_UNREACHABLE',
  'SETUP_FAILED',
  'AGENT_INVALID',
  'TEMPLATE_INVALID',
]);

/** When a stream of the caller ends is not known; in seconds. */
const STREAMS_END = 5;

interface Asked {
  id: string;
  routeOptions?: { bodyLimit?: number | undefined };
}

/** What a caller is told about an error. `isOurs`: the service is at fault, and its log should have all of it. */
export function problemOf(error: unknown, { id: request, routeOptions }: Asked): { problem: Problem; isOurs: boolean } {
  const known = isFailure(error) ? error : (failureOfFastify(error, routeOptions?.bodyLimit) ?? failure('INTERNAL', { problem: 'the service failed' }, error));
  const isOurs = INTERNAL.has(known.code);
  const told = isOurs ? failure('SERVICE_AWAY', { cause: known.code, request }) : known;
  return { problem: { ...fieldsOf(told), ...(known.code === 'INTERNAL' && { status: 500 }), request }, isOurs };
}

/** The header that says when to try again, where there are limits, or a host has to get room first. In seconds. */
export function retryOf({ status, values }: Pick<Problem, 'status' | 'values'>): { 'retry-after'?: string } {
  if (status === 429) return { 'retry-after': String(values['retryAfter'] ?? STREAMS_END) };
  const { retryAfterMs } = values;
  return typeof retryAfterMs === 'number' ? { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } : {};
}

function fieldsOf({ code, message, values }: LongshoreError): Omit<Problem, 'request'> {
  const { httpStatus, retryable } = ERRORS[code];
  return { type: `urn:longshore:error:${code}`, title: titleOf(code), status: httpStatus, detail: message, code, retryable, values };
}

function titleOf(code: ErrorCode): string {
  const text = code.toLowerCase().replaceAll('_', ' ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Fastify's own errors about requests that no route has seen. */
function failureOfFastify(error: unknown, limit = BODY_LIMIT): LongshoreError | undefined {
  const { code, message = '', statusCode } = error as { code?: string; message?: string; statusCode?: number };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return failure('BODY_TOO_LARGE', { limit });
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return badBody('it is no JSON');
  if (statusCode === undefined || statusCode >= 500 || statusCode < 400) return undefined;
  return failure('INVALID_ARGUMENT', { what: 'request', problem: message, fix: 'Correct the request, and send it again' });
}

function badBody(problem: string): LongshoreError {
  return failure('INVALID_ARGUMENT', { what: 'body', problem, fix: 'Send JSON with content-type: application/json' });
}

/** Reads a body of JSON; undefined for an empty one. @throws INVALID_ARGUMENT, also for JSON so deep or with so many parts that it would hold up the service, and for numbers that would be changed */
export function parseBody(text: string): unknown {
  if (text === '') return undefined;
  const value = tryParseForeign(text);
  if (value === undefined) throw badBody(`it ${excessOf(text) ?? 'is no JSON'}`);
  const number = inexactNumberIn(text);
  if (number !== undefined) throw failure('INVALID_ARGUMENT', { what: 'body', problem: `its number ${number} would be rounded`, fix: 'Send it as a string' });
  return value;
}

/** Bytes of a body of JSON. */
export const BODY_LIMIT = 2_000_000;
