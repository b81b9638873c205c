import { setTimeout as sleep } from 'node:timers/promises';
import { failure, isFailure } from '../../../contracts/errors.ts';
import type { ExecSpec, WorkingConnection } from '../../protocol/supervisor-connection.ts';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
/** The supervisor's message. Any other reason why a command does not start is an error. */
const FULL = /^\d+ commands run already$/;

/** The same connection, on which commands beyond the limit of a sandbox wait until others have ended. The first that waits is the first to try again. */
export function whenThereIsRoom(connection: WorkingConnection): WorkingConnection {
  /** By the id of each command that waits: resolved when it was started or could not be started. */
  const waiting = new Map<string, Promise<void>>();
  /** Number of callers that start or follow each command. */
  const begun = new Map<string, number>();
  let last = Promise.resolve();

  /** Starts a command in its turn. A caller that follows it attaches to it afterwards: the same id twice is one command. */
  const startInTurn = async (spec: ExecSpec, signal: AbortSignal | undefined): Promise<void> => {
    const before = last;
    let pass: () => void = () => undefined;
    const passed = new Promise<void>((resolve) => (pass = resolve));
    last = before.then(() => passed);
    waiting.set(spec.execId, passed);
    try {
      await unlessAborted(before, spec.execId, signal);
      await startWhenPossible(connection, spec, signal);
    } finally {
      waiting.delete(spec.execId);
      pass();
    }
  };
  const begin = async <T>(spec: ExecSpec, ask: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const { execId } = spec;
    begun.set(execId, (begun.get(execId) ?? 0) + 1);
    try {
      return await ask();
    } catch (error) {
      if (!isFull(error)) throw error;
      await startInTurn(spec, signal);
      return await ask();
    } finally {
      const left = (begun.get(execId) ?? 1) - 1;
      if (left > 0) begun.set(execId, left);
      else begun.delete(execId);
    }
  };
  /**
   * A request that is sent right after a command does not find the command while that has to wait, or while its start is sent again after a stream has broken.
   * Then it is repeated until the command has been started.
   */
  const behind = async <T>(execId: string, ask: () => Promise<T>): Promise<T> => {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await ask();
      } catch (error) {
        if (!isFailure(error, 'EXEC_NOT_FOUND') || !begun.has(execId)) throw error;
      }
      await (waiting.get(execId) ?? sleep(pause));
    }
  };
  return {
    ...connection,
    run: (spec, follow) => begin(spec, () => connection.run(spec, follow), follow.signal),
    start: (spec) => begin(spec, () => connection.start(spec)),
    input: (execId, bytes, options) => behind(execId, () => connection.input(execId, bytes, options)),
    calls: (execId, options) => behind(execId, () => connection.calls(execId, options)),
  };
}

async function startWhenPossible(connection: WorkingConnection, spec: ExecSpec, signal: AbortSignal | undefined): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    await sleep(pause, undefined, signal && { signal }).catch(() => undefined);
    if (signal?.aborted === true) throw neverBegun(spec.execId);
    try {
      await connection.start(spec);
      return;
    } catch (error) {
      if (!isFull(error)) throw error;
    }
  }
}

async function unlessAborted(wait: Promise<void>, execId: string, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return wait;
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => (onAbort = () => reject(neverBegun(execId))));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    await Promise.race([wait, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The command was never started, so the error is not `DETACHED`. */
function neverBegun(execId: string): Error {
  return failure('INTERRUPTED', { callId: execId });
}

function isFull(error: unknown): boolean {
  return isFailure(error, 'EXEC_FAILED') && FULL.test(String(error.values['problem']));
}
