import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { anySignal } from '../../common/any-signal.ts';
import { DEFAULT_LEASE_MS, type ClaimedCall, type ClientCall } from '../../contracts/client-tool.ts';
import { isFailure, type ErrorCode } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import type { ClientToolHandler, ToolsHost } from './client-tool-types.ts';

const RENEW_MS = DEFAULT_LEASE_MS / 3;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** The call is not for this client any more. */
const GONE: ErrorCode[] = ['CLIENT_CALL_ENDED', 'CLIENT_CALL_NOT_FOUND', 'CLIENT_RESULT_DIFFERENT', 'CONVERSATION_NOT_FOUND', 'CONVERSATION_CLOSED'];
/** The model is told what is wrong with the result. */
const REFUSED: ErrorCode[] = ['CLIENT_RESULT_INVALID', 'CLIENT_RESULT_TOO_LARGE', 'BODY_TOO_LARGE', 'INVALID_ARGUMENT'];

interface Serving {
  host: ToolsHost;
  conversationId: string;
  handlers: ReadonlyMap<string, ClientToolHandler>;
  holder: string;
  stopped: AbortSignal;
}

/**
 * Runs the tools of a conversation as long as it is open: takes calls that wait, those too that have waited before, and gives their results. Resolves when the
 * conversation is closed or `stopped` aborts, and the running handlers have ended.
 */
export async function serveTools(
  host: ToolsHost,
  conversationId: string,
  handlers: ReadonlyMap<string, ClientToolHandler>,
  stopped: AbortSignal,
): Promise<void> {
  const serving: Serving = { host, conversationId, handlers, holder: randomUUID(), stopped };
  const running = new Map<string, { done: Promise<void>; lost: AbortController }>();
  const look = async (): Promise<number> => {
    const { calls, seq } = await host.waitingCalls(conversationId);
    for (const call of calls) {
      const handler = handlers.get(call.name);
      if (!handler || running.has(call.callId) || stopped.aborted) continue;
      const lost = new AbortController();
      const done = serveCall(serving, call, handler, lost).finally(() => running.delete(call.callId));
      running.set(call.callId, { done, lost });
    }
    return seq;
  };
  try {
    if (stopped.aborted) return;
    const seq = await look();
    for await (const { type, data } of host.events(conversationId, { afterSeq: seq, signal: stopped })) {
      if (type === 'tool.waiting') await untilDone(stopped, look);
      if (type === 'tool.finished') running.get(data.callId)?.lost.abort();
    }
  } finally {
    await Promise.all([...running.values()].map(({ done }) => done));
  }
}

/** How long another client's claim is waited for before it is looked at again, in milliseconds: the clock of this machine may be wrong, so its end says only how long it may take. */
export function pauseUntil(untilMs: number, nowMs: number, leastMs: number): number {
  return Math.min(Math.max(leastMs, untilMs - nowMs), DEFAULT_LEASE_MS);
}

/** Takes a call as soon as no other client has it, and runs it. */
async function serveCall(serving: Serving, call: ClientCall, handler: ClientToolHandler, lost: AbortController): Promise<void> {
  const signal = anySignal([serving.stopped, lost.signal]);
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const taken = await claim(serving, call);
    if (taken === 'gone') return;
    if ('until' in taken) await sleep(pauseUntil(taken.until, Date.now(), pause), undefined, { signal }).catch(() => undefined);
    else return runCall(serving, taken, handler, lost);
  }
}

async function claim({ host, conversationId, holder, stopped }: Serving, { callId }: ClientCall): Promise<ClaimedCall | { until: number } | 'gone'> {
  try {
    return (await untilDone(stopped, () => host.claimCall(conversationId, { callId, holder }))) ?? 'gone';
  } catch (error) {
    if (isFailure(error, 'CLIENT_CALL_TAKEN')) return { until: Date.parse(String(error.values['until'])) };
    return 'gone';
  }
}

async function runCall(serving: Serving, { callId, arguments: input }: ClaimedCall, handler: ClientToolHandler, lost: AbortController): Promise<void> {
  const signal = anySignal([serving.stopped, lost.signal]);
  // A handler that waits for the signal to abort would wait for ever.
  if (signal.aborted) return giveBack(serving, callId);
  const lease = setInterval(() => void renew(serving, callId, lost), RENEW_MS);
  try {
    const given = await outcomeOf(() => handler(input, { callId, signal }));
    if (lost.signal.aborted) return;
    if (given.isError && serving.stopped.aborted) await giveBack(serving, callId);
    else await give(serving, callId, given);
  } finally {
    clearInterval(lease);
  }
}

/** A client that cannot renew its claim goes on: nobody else may want the call. */
async function renew({ host, conversationId, holder }: Serving, callId: string, lost: AbortController): Promise<void> {
  try {
    await host.claimCall(conversationId, { callId, holder });
  } catch (error) {
    if (isGone(error) || isFailure(error, 'CLIENT_CALL_TAKEN')) lost.abort();
  }
}

async function outcomeOf(work: () => unknown): Promise<{ result: Json; isError: boolean }> {
  try {
    return { result: ((await work()) ?? null) as Json, isError: false };
  } catch (error) {
    return { result: error instanceof Error ? error.message || error.name : String(error), isError: true };
  }
}

async function give(serving: Serving, callId: string, { result, isError }: { result: Json; isError: boolean }): Promise<void> {
  const { host, conversationId, holder, stopped } = serving;
  const once = () => host.giveResult(conversationId, { callId, result, isError, holder });
  try {
    await (stopped.aborted ? once() : untilDone(stopped, once));
  } catch (error) {
    if (!isError && isFailure(error) && REFUSED.includes(error.code)) await give(serving, callId, { result: error.message, isError: true });
  }
}

async function giveBack({ host, conversationId, holder }: Serving, callId: string): Promise<void> {
  // Otherwise, others can take it when the time of this client has passed.
  await host.claimCall(conversationId, { callId, holder, leaseMs: 0 }).catch(() => undefined);
}

/** Repeats what cannot be done now; undefined when it was stopped before. */
async function untilDone<Result>(stopped: AbortSignal, work: () => Promise<Result>): Promise<Result | undefined> {
  const isStopped = () => stopped.aborted;
  for (let pause = FIRST_PAUSE_MS; !isStopped(); pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isFailure(error) || !error.retryable || isFailure(error, 'CLIENT_CALL_TAKEN')) throw error;
    }
    await sleep(pause, undefined, { signal: stopped }).catch(() => undefined);
  }
  return undefined;
}

function isGone(error: unknown): boolean {
  return isFailure(error) && GONE.includes(error.code);
}
