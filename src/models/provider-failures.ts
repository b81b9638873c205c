import { AISDKError, APICallError } from 'ai';
import { failure, type LongshoreError } from '../contracts/errors.ts';
import { cutMiddle } from '../contracts/visible-text.ts';
import type { ProviderTraits } from './provider-traits.ts';

const LONGEST_RETRY_AFTER_MS = 3_600_000;
/** Errors of the library before anything was sent: the same request will never be accepted. `AI_TypeValidationError` is not one: what it is about came from the provider. */
const REFUSED_BY_LIBRARY = new Set(['AI_InvalidPromptError', 'AI_InvalidArgumentError', 'AI_UnsupportedFunctionalityError']);

/** Translates an error of a provider or its library; the key never appears in the message. */
export function toModelFailure(error: unknown, traits: Pick<ProviderTraits, 'model' | 'variable'>, secret: string): LongshoreError {
  const { model, variable } = traits;
  const values = { model, problem: describe(error, secret) };
  const kind = classify(error);
  if (kind === 'auth') return failure('MODEL_AUTH', { ...values, variable });
  if (isTooLong(error)) return failure('MODEL_CONTEXT_TOO_LONG', values);
  if (kind === 'bad-request') return failure('MODEL_BAD_REQUEST', values);
  if (kind === 'unavailable') return failure('MODEL_UNAVAILABLE', values);
  const retryAfterMs = APICallError.isInstance(error) ? readRetryAfter(error.responseHeaders ?? {}) : undefined;
  const limited = retryAfterMs === undefined ? values : { ...values, retryAfterMs };
  return failure('MODEL_RATE_LIMITED', limited);
}

function classify(error: unknown): 'auth' | 'bad-request' | 'rate-limit' | 'unavailable' {
  if (APICallError.isInstance(error)) return classifyStatus(error.statusCode);
  if (AISDKError.isInstance(error) && REFUSED_BY_LIBRARY.has(error.name)) return 'bad-request';
  // Errors that a provider sends within its stream have a word instead of a status; gateways write the status as the code.
  const { type, code } = (error ?? {}) as { type?: unknown; code?: unknown };
  if (isStatus(Number(code))) return classifyStatus(Number(code));
  const words = `${String(type)} ${String(code)}`;
  if (/authentication|permission/.test(words)) return 'auth';
  if (/invalid_request|context_length|content_filter|not_found/.test(words)) return 'bad-request';
  return /rate_limit/.test(words) ? 'rate-limit' : 'unavailable';
}

/** What providers say of a prompt that does not fit into the model's window. Each has its own words, and few a code. */
const TOO_LONG = [
  /context_length_exceeded|exceed_context_size/,
  /prompt is too long|input is too long|prompt too long/,
  /(?:maximum|available|max) context (?:length|size|window)/,
  /(?:maximum|max) prompt length/,
  /input token count.{0,40}exceeds/,
  /exceeds? (?:the |this )?(?:model'?s )?(?:maximum )?(?:context|input) (?:window|length|limit)/,
  /reduce the length of (?:the|your) (?:messages|prompt|input)/,
];

function isTooLong(error: unknown): boolean {
  const { message, code, responseBody, statusCode } = (error ?? {}) as { message?: unknown; code?: unknown; responseBody?: unknown; statusCode?: unknown };
  if (typeof statusCode === 'number' && (statusCode < 400 || statusCode === 429 || statusCode >= 500)) return false;
  const said = [message, code, responseBody].map((text) => (typeof text === 'string' ? text.slice(0, 4_000) : '')).join(' ');
  return statusCode === 413 || TOO_LONG.some((pattern) => pattern.test(said.toLowerCase()));
}

function isStatus(code: number): boolean {
  return Number.isInteger(code) && code >= 400 && code < 600;
}

function classifyStatus(status: number | undefined): 'auth' | 'bad-request' | 'rate-limit' | 'unavailable' {
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate-limit';
  const mayPass = status === undefined || status < 400 || status >= 500 || status === 408 || status === 409 || status === 425;
  return mayPass ? 'unavailable' : 'bad-request';
}

function readRetryAfter(headers: Record<string, string>): number | undefined {
  // `||`: an empty header says nothing, and would be read as 0.
  const milliseconds = Number(headers['retry-after-ms']?.trim() || Number.NaN);
  const given = headers['retry-after']?.trim() || undefined;
  const seconds = Number(given ?? Number.NaN);
  const atDate = given === undefined ? Number.NaN : Date.parse(given) - Date.now();
  const wait = [milliseconds, seconds * 1000, atDate].find((value) => Number.isFinite(value) && value >= 0);
  return wait === undefined ? undefined : Math.min(Math.ceil(wait), LONGEST_RETRY_AFTER_MS);
}

function describe(error: unknown, secret: string): string {
  const { message, statusCode, cause } = (error ?? {}) as { message?: unknown; statusCode?: unknown; cause?: { message?: unknown } };
  const said = typeof message === 'string' && message !== '' ? message : String(error);
  const because = typeof cause?.message === 'string' && !said.includes(cause.message) ? ` (${cause.message})` : '';
  const text = `${typeof statusCode === 'number' ? `HTTP ${statusCode}: ` : ''}${said}${because}`;
  return cutMiddle(secret === '' ? text : text.replaceAll(secret, '[redacted]'), 500);
}
