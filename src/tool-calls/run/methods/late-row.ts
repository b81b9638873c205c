import { setImmediate } from 'node:timers/promises';
import type { ExecuteToolArgs } from '../../../contracts/activities.ts';
import { failure } from '../../../contracts/errors.ts';
import type { RegisteredTool } from '../../../plugins/registry/registry.ts';
import type { NewEvent, Store } from '../../../store/store.ts';
import type { ClaimResult } from '../../../store/tool-call-rows.ts';
import type { Within } from './within.ts';

/** A call that runs longer than this has its row while it runs. Milliseconds. */
const SOON_MS = 50;

type Claimed = Extract<ClaimResult, { outcome: 'claimed' }>;

export interface LateRow extends AsyncDisposable {
  claim: Claimed;
  /** The store that the call has to use. */
  store: Store;
}

/** Whether the row of a call may be written after the call, which only reads and runs beside the worker. */
export function mayHaveLateRow({ mayBeLate }: Within, tool: RegisteredTool | undefined): boolean {
  return mayBeLate && tool?.isolation === 'host' && tool.annotations.readOnlyHint === true && tool.kind === 'tool' && !tool.client && !tool.mayGoOn;
}

/**
 * Begins a call of code without its row: the row, the events and the result are then stored in one statement. A call that takes longer, or that stores an event or
 * an entry of the transcript, has its row before that. If the worker dies first, the next worker receives the call again and runs it again.
 */
export function beginWithoutRow(store: Store, { proposal, requested, onResult }: Within, started: NewEvent[], { storageLimit }: ExecuteToolArgs): LateRow {
  const { toolCalls, events, transcript } = store;
  let claiming: Promise<ClaimResult> | undefined;
  const claim = (): Promise<ClaimResult> => {
    clearTimeout(timer);
    claiming ??= toolCalls.claimMethod(proposal, { requested: [requested], started }, storageLimit).catch((error: unknown) => {
      claiming = undefined;
      throw error;
    });
    return claiming;
  };
  const timer = setTimeout(() => void claim().catch(() => undefined), SOON_MS);
  const settle: Store['toolCalls']['settle'] = async (callId, _fence, result, ending, from) => {
    clearTimeout(timer);
    if (claiming === undefined && !from) {
      onResult(result);
      // The answer is sent before the statement: both keep other programs busy, and the code waits for one of them only.
      await setImmediate();
      const outcome = await toolCalls.recordMethod(proposal, result, [requested, ...started, ...ending], storageLimit);
      if (outcome === 'missing') throw noRoom(storageLimit);
      return outcome === 'recorded';
    }
    const claimed = await claim();
    if (claimed.outcome === 'missing') throw noRoom(storageLimit);
    return claimed.outcome === 'claimed' && toolCalls.settle(callId, claimed.fence, result, ending, from);
  };
  return {
    claim: { outcome: 'claimed', fence: 1, attempt: 1, call: rowOf(proposal), begunAt: performance.now() },
    store: {
      ...store,
      toolCalls: { ...toolCalls, settle },
      events: { ...events, append: (...appended) => claim().then(() => events.append(...appended)) },
      transcript: { ...transcript, append: (...entry) => claim().then(() => transcript.append(...entry)) },
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      // A row that is being made is one that its caller has to know of.
      await claiming?.catch(() => undefined);
    },
  };
}

/** The conversation has no room for another call. */
export function noRoom(storageLimit = 0): Error {
  return failure('STORAGE_EXHAUSTED', { limit: Math.round(storageLimit / 2 ** 20) });
}

function rowOf({ number: _number, from: _from, ...call }: Within['proposal']): Claimed['call'] {
  const now = new Date().toISOString();
  return { ...call, state: 'running', fence: 1, isError: false, requestedAt: now, startedAt: now };
}
