import { removeConversation, type RemovalParts } from './remove-conversation.ts';

/** Small, so that no statement holds its locks for long. */
const AT_ONCE = 20;
/** Removals that were interrupted or had to wait, in one round; when there are more, the next round continues there. */
const BEGUN_AT_ONCE = 1_000;

/** Where the next round of a worker begins with removals that were begun: some may have to wait for long, such as those of a host that is lost, and others come after them. */
export interface RemovalPlace {
  afterId: string;
}

/**
 * One round: finishes removals that were begun, then removes the conversations that are closed for as long as they are kept: `keepMs`, unless their tenant has a
 * retention of its own; undefined: for ever. Returns the ids of those removed. Several workers may do this at once. Ends early on abort.
 */
export async function removeOld(
  parts: RemovalParts,
  keepMs: number | undefined,
  signal: AbortSignal,
  place: RemovalPlace = { afterId: '' },
): Promise<string[]> {
  const { store, log } = parts;
  const removed: string[] = [];
  let ids = await store.removal.begun(BEGUN_AT_ONCE, place.afterId);
  place.afterId = ids.length === BEGUN_AT_ONCE ? (ids.at(-1) ?? '') : '';
  do {
    const batch: string[] = [];
    for (const id of ids) if (!signal.aborted && (await removeConversation(parts, id)) === 'removed') batch.push(id);
    if (batch.length > 0) log.info({ removed: batch }, 'closed conversations removed, with all that belonged to them');
    removed.push(...batch);
    ids = signal.aborted ? [] : await store.removal.claim(keepMs, AT_ONCE);
  } while (ids.length > 0);
  return removed;
}
