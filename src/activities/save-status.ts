import type { SaveStatusArgs } from '../contracts/activities.ts';
import type { Store } from '../store/store.ts';
import { onceEach } from '../tool-calls/results/once-each.ts';

/** Writes the conversation's status to Postgres, with the events that belong to it. */
export function createSaveStatus({ store }: { store: Store }) {
  return async function saveStatus({ status, events }: SaveStatusArgs): Promise<void> {
    await store.conversations.saveStatus(status, onceEach(events));
  };
}
