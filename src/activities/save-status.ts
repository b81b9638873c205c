import type { SaveStatusArgs, SaveStatusResult } from '../contracts/activities.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { onceEach } from '../tool-calls/results/once-each.ts';

/** Writes the conversation's status to Postgres, with the events that belong to it. */
export function createSaveStatus({ store, service }: Pick<ActivityDependencies, 'store' | 'service'>) {
  return async function saveStatus({ status, events }: SaveStatusArgs): Promise<SaveStatusResult> {
    await store.conversations.saveStatus(status, onceEach(events));
    return service ? { serviceUrl: service.url } : {};
  };
}
