import { isFailure } from '../contracts/errors.ts';
import { createGuardedFetch, type GuardedFetch } from '../network/guarded-fetch.ts';
import { signatureOf } from './secret.ts';
import { WEBHOOK_ADDRESSES } from './webhook-terms.ts';

/** Time for an answer, in milliseconds. */
const TIMEOUT_MS = 15_000;
/** Bytes of a message, and those that are read of an answer before its connection is given up. */
const MAX_BYTES = 1_000_000;
const MAX_PROBLEM = 300;

export interface SendOutcome {
  /** `gone`: the endpoint says that it wants no more (410). */
  outcome: 'delivered' | 'failed' | 'gone';
  tookMs: number;
  status?: number;
  problem?: string;
  /** Milliseconds that the answer asks to wait. */
  askedMs?: number;
}

/** A way to one endpoint; its connection is kept between messages. */
export interface Endpoint extends AsyncDisposable {
  /** Sends a message; it never rejects. Ends early when `signal` aborts. */
  send(message: { messageId: string; body: string }, secrets: string[], signal?: AbortSignal): Promise<SendOutcome>;
}

export function openEndpoint(url: string, { allowAddresses, timeoutMs = TIMEOUT_MS }: { allowAddresses: string[]; timeoutMs?: number }): Endpoint {
  const options = { allowAddresses, setting: WEBHOOK_ADDRESSES, timeoutMs, maxBytes: MAX_BYTES, answers: 'dropped' as const };
  const guarded = createGuardedFetch({ ...options, hosts: [new URL(url).hostname] });
  return {
    async send({ messageId, body }, secrets, signal) {
      const began = performance.now();
      const timestamp = Math.floor(Date.now() / 1000);
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'longshore-webhooks',
        'webhook-id': messageId,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatureOf({ messageId, timestamp, body }, secrets),
      };
      const answer = await post(guarded, url, { method: 'POST', headers, body, redirect: 'manual', ...(signal && { signal }) });
      return { ...answer, tookMs: performance.now() - began };
    },
    [Symbol.asyncDispose]: () => guarded[Symbol.asyncDispose](),
  };
}

async function post(guarded: GuardedFetch, url: string, init: RequestInit): Promise<Omit<SendOutcome, 'tookMs'>> {
  try {
    return judge(await guarded.fetch(url, init));
  } catch (error) {
    const problem = isFailure(error) ? error.message : `the request failed (${error instanceof Error ? error.message : String(error)})`;
    return { outcome: 'failed', problem: problem.slice(0, MAX_PROBLEM) };
  }
}

function judge({ status, ok, headers }: Response): Omit<SendOutcome, 'tookMs'> {
  if (ok) return { outcome: 'delivered', status };
  if (status === 410) return { outcome: 'gone', status, problem: 'it answered 410: it wants no more messages' };
  const problem = status >= 300 && status < 400 ? `it answered ${status}: redirects are not followed` : `it answered ${status}`;
  const askedMs = waitOf(headers.get('retry-after'));
  return { outcome: 'failed', status, problem, ...(askedMs !== undefined && { askedMs }) };
}

/** A number of seconds, or a date. */
function waitOf(text: string | null): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
