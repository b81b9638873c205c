import type { FinishTurnArgs } from '../contracts/activities.ts';
import type { Store } from '../store/store.ts';
import { withoutAppended } from './append-once.ts';

/** Ends a turn in events and status. */
export function createFinishTurn({ store }: { store: Store }) {
  return async function finishTurn({ conversationId, turnId, outcome, message, status }: FinishTurnArgs): Promise<void> {
    const data = { outcome, ...(message !== undefined && { message }) };
    await store.conversations.saveStatus(status, await withoutAppended(store, conversationId, [{ type: 'turn.finished', turnId, data }]));
  };
}
