import type { FinishTurnArgs } from '../contracts/activities.ts';
import type { Store } from '../store/store.ts';
import { onceEach } from '../tool-calls/results/once-each.ts';

/** Ends a turn in events and status. */
export function createFinishTurn({ store }: { store: Store }) {
  return async function finishTurn({ turnId, outcome, message, status }: FinishTurnArgs): Promise<void> {
    const data = { outcome, ...(message !== undefined && { message }) };
    await store.conversations.saveStatus(status, onceEach([{ type: 'turn.finished', turnId, data }]));
  };
}
