import { randomUUID } from 'node:crypto';
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';

/**
 * What is known about a request that failed. `answered`: the server reported the failure itself, or this worker ended the request. `broken`: its answer broke off,
 * and other requests over the same connection go on.
 */
export type Fate = 'answered' | 'forgotten' | 'unmade' | 'unknown' | 'broken';

/** Servers use this code for errors of their own; none knows the mark. */
const [BROKEN_OFF, MARK] = [-32_000, randomUUID()];
/** Messages of `fetch` for a missing or incomplete answer. */
const NETWORK_FAILED = new Set(['fetch failed', 'terminated']);
/** Codes of a request that was never sent: no process listens at the address, or the host cannot be reached. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

export function fateOf(error: unknown): Fate {
  if (error instanceof SdkHttpError) return isSessionGone(error) ? 'forgotten' : 'answered';
  if (error instanceof ProtocolError) return error.data === MARK ? 'broken' : 'answered';
  if (error instanceof SdkError) return error.code === SdkErrorCode.ConnectionClosed ? 'unknown' : 'answered';
  const { message, cause } = error as { message?: string; cause?: { code?: string } };
  if (message === undefined || !NETWORK_FAILED.has(message)) return 'answered';
  return UNSENT.has(cause?.code ?? '') ? 'unmade' : 'unknown';
}

/** The error in place of an answer that broke off. */
export function brokenOff(message: string): { code: number; message: string; data: string } {
  return { code: BROKEN_OFF, message, data: MARK };
}

/** 404 as the protocol defines it, or 400 as many servers answer. */
function isSessionGone({ status, message }: SdkHttpError): boolean {
  return status === 404 || (status === 400 && /session/i.test(message));
}
