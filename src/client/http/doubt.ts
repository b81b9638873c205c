import { ERRORS } from '../../contracts/error-table/error-rows.ts';
import { failure, isFailure, isKnownCode } from '../../contracts/errors.ts';

/** Of requests that were sent, or may have been, and that got no answer of the service. */
const unanswered = new WeakSet<object>();
/** Codes of Node.js and its fetch for a connection that was never made. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'UND_ERR_CONNECT_TIMEOUT']);

/** Notes that what the request wanted may have been done. */
export function noteUnanswered<Thrown extends Error>(error: Thrown): Thrown {
  unanswered.add(error);
  return error;
}

export function isUnanswered(error: unknown): boolean {
  return typeof error === 'object' && error !== null && unanswered.has(error);
}

/** Whether the request cannot have reached the service: it could not be made, or there was no connection, or no trust in who answers. */
export function wasNotSent({ cause }: { cause?: unknown }): boolean {
  const { code } = (cause ?? {}) as { code?: string };
  return code === undefined || NOT_SENT.has(code) || /CERT|SELF_SIGNED|ERR_TLS|ERR_SSL/.test(code);
}

/** The error of a request that changes something: an attempt of it may have done that. What the service has said about the request itself stays as it is. */
export function inDoubt(error: unknown, url: string): unknown {
  if (!isFailure(error)) return error;
  const { code, values } = error;
  const isAboutRequest = code !== 'SERVICE_UNREACHABLE' && code !== 'SERVICE_AWAY' && !(isKnownCode(code) && ERRORS[code].httpStatus === 429);
  if (isAboutRequest) return error;
  const reason = code === 'SERVICE_UNREACHABLE' ? values['problem'] : `it answered ${code}`;
  return failure('SERVICE_UNREACHABLE', { url, problem: `${reason}, and whether the request took effect is not known` }, error);
}
