import { setTimeout as sleep } from 'node:timers/promises';
import type { Longshore } from '../../src/client.ts';
import { isFailure } from '../../src/contracts/errors.ts';
import { isPassing } from './insist.ts';

const PAUSE_MS = 300;

/** Allows every call that waits for a person, until it is disposed. */
export function startPerson(longshore: Longshore, onProblem: (what: string) => void): AsyncDisposable {
  const over = new AbortController();
  const working = (async () => {
    while (!over.signal.aborted) {
      await allowAll(longshore).catch((error: unknown) => {
        if (!isPassing(error) && !over.signal.aborted) onProblem(`a person who allows calls got the error: ${String(error)}`);
      });
      await sleep(PAUSE_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      over.abort();
      await working;
    },
  };
}

async function allowAll(longshore: Longshore): Promise<void> {
  for (const { conversationId, status } of await longshore.list({ state: 'awaiting-approval', limit: 200 })) {
    for (const { callId } of status.pendingApprovals) {
      await longshore.approve(conversationId, { callId, answer: 'allow-once', by: 'chaos' }).catch((error: unknown) => {
        // An answer whose own answer was lost has been taken.
        if (!isFailure(error, 'APPROVAL_NOT_FOUND')) throw error;
      });
    }
  }
}
