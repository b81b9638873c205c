import type { Store } from '../store/store.ts';

/** Small, so that no statement holds its locks for long. */
const AT_ONCE = 20;

/** Removes stored calls of conversations that were closed at least so many days ago; 0 days removes none. Ends early when its signal aborts. */
export async function compactClosed(store: Pick<Store, 'conversations'>, days: number, signal: AbortSignal): Promise<number> {
  let count = 0;
  if (days <= 0) return count;
  for (let found = AT_ONCE; found === AT_ONCE && !signal.aborted; count += found) found = await store.conversations.compact(days, AT_ONCE);
  return count;
}
