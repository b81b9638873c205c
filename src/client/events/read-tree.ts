import { failure } from '../../contracts/errors.ts';
import type { ConversationEvent } from '../../contracts/events.ts';
import { whenReachable } from '../../store/database/when-reachable.ts';
import type { EventPage, Store } from '../../store/store.ts';
import { cursorOf, notOfTree, placeOf, type TreePlace } from './tree-cursor.ts';

/** An event of a tree of conversations. */
export type TreeEvent = ConversationEvent & {
  /** Where a reader goes on that has this event and those before it. */
  cursor: string;
};

export interface TreeOptions {
  /** The `cursor` of the last event that the reader has. Default: none. */
  after?: string | undefined;
  /** Ends the iteration. */
  signal?: AbortSignal | undefined;
}

type TreeStore = { conversations: Pick<Store['conversations'], 'get'>; events: Pick<Store['events'], 'read' | 'news'> };

/** What a slow reader may hold in memory: about this much, and one event. */
const PAGE: EventPage = { limit: 200, bytes: 64 * 1024 };

/**
 * Where the reader of a tree begins.
 * @throws CONVERSATION_NOT_FOUND
 * @throws INVALID_ARGUMENT when the cursor names a conversation that is not in the tree
 */
export async function startOfTree({ conversations }: TreeStore, rootId: string, after: string | undefined): Promise<TreePlace> {
  if (!(await conversations.get(rootId))) throw failure('CONVERSATION_NOT_FOUND', { conversationId: rootId });
  if (after === undefined) return new Map([[rootId, 0]]);
  const place = placeOf(after);
  for (const conversationId of place.keys()) {
    if (conversationId === rootId) continue;
    const row = await conversations.get(conversationId);
    if (!row?.status.parent?.path.includes(rootId)) throw notOfTree(after);
  }
  return place;
}

/**
 * Yields the events of a conversation and of all its sub-agents, each once, and those of one conversation in their order; a sub-agent's come after the
 * `agent.started` of its parent. Ends when all of them are closed, or when `signal` aborts.
 */
export async function* readTree(store: TreeStore, place: TreePlace, signal: AbortSignal): AsyncGenerator<TreeEvent> {
  using news = watchNews(store, signal);
  for (const conversationId of place.keys()) news.watch(conversationId);
  while (place.size > 0) {
    const next = await news.next();
    if (next === undefined) return;
    const { conversationId } = next;
    if (next.isRemoved) {
      // It was closed before, and its last event will not be read.
      place.delete(conversationId);
      news.unwatch(conversationId);
      continue;
    }
    for await (const event of readOn(store.events, place, conversationId, signal)) {
      const { begins, ends } = goOn(place, event);
      if (begins !== undefined) news.watch(begins);
      if (ends !== undefined) news.unwatch(ends);
      yield { ...event, cursor: cursorOf(place) };
      if (signal.aborted) return;
    }
  }
}

/** Yields the events that a tree has now, as `readTree`. */
export async function* readStoredTree(store: TreeStore, place: TreePlace, signal: AbortSignal): AsyncGenerator<TreeEvent> {
  // Those that begin meanwhile are added at the end of the map, and so are visited, too.
  for (const conversationId of place.keys()) {
    for await (const event of readOn(store.events, place, conversationId, signal)) {
      goOn(place, event);
      yield { ...event, cursor: cursorOf(place) };
    }
  }
}

/** Notes in `place` that the reader has an event. Returns the conversation from which events come now, and the one from which none come any more. */
function goOn(place: TreePlace, event: ConversationEvent): { begins?: string; ends?: string } {
  place.set(event.conversationId, event.seq);
  if (event.type === 'conversation.closed') {
    place.delete(event.conversationId);
    return { ends: event.conversationId };
  }
  if (event.type !== 'agent.started' || place.has(event.data.conversationId)) return {};
  place.set(event.data.conversationId, 0);
  return { begins: event.data.conversationId };
}

/** The events that one conversation has now, after those that the reader has. */
async function* readOn(events: TreeStore['events'], place: TreePlace, conversationId: string, signal: AbortSignal): AsyncGenerator<ConversationEvent> {
  for (;;) {
    const cursor = place.get(conversationId);
    if (cursor === undefined) return;
    const page = await whenReachable(() => events.read(conversationId, cursor, PAGE), signal);
    if (page.length === 0) return;
    yield* page;
  }
}

/** Says which of some conversations may have new events. */
function watchNews({ conversations, events }: TreeStore, signal: AbortSignal) {
  const watched = new Map<string, AbortController>();
  const fresh = new Set<string>();
  const removed = new Set<string>();
  let failed: { error: unknown } | undefined;
  let isClosed = false;
  let wake = () => {};
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort);
  const follow = async (conversationId: string, until: AbortSignal) => {
    for await (const _ of events.news(conversationId, until)) {
      fresh.add(conversationId);
      wake();
    }
    if (until.aborted) return;
    const isRemoved = await conversations.get(conversationId).then(
      (row) => row === undefined,
      () => false,
    );
    // Otherwise, the store closes.
    if (isRemoved) removed.add(conversationId);
    else isClosed = true;
    wake();
  };
  return {
    watch(conversationId: string) {
      const leaving = new AbortController();
      watched.set(conversationId, leaving);
      follow(conversationId, leaving.signal).catch((error: unknown) => {
        failed = { error };
        wake();
      });
    },
    unwatch(conversationId: string) {
      watched.get(conversationId)?.abort();
      watched.delete(conversationId);
      fresh.delete(conversationId);
      removed.delete(conversationId);
    },
    /** A conversation that may have new events, or that was removed; undefined when `signal` aborts or the store closes. */
    async next(): Promise<{ conversationId: string; isRemoved: boolean } | undefined> {
      for (;;) {
        if (failed) throw failed.error;
        if (signal.aborted || isClosed) return undefined;
        const [gone] = removed;
        if (gone !== undefined) return { conversationId: gone, isRemoved: true };
        const [found] = fresh;
        if (found !== undefined) {
          fresh.delete(found);
          return { conversationId: found, isRemoved: false };
        }
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    [Symbol.dispose]() {
      signal.removeEventListener('abort', onAbort);
      for (const leaving of watched.values()) leaving.abort();
    },
  };
}
