import { failure } from '../../contracts/errors.ts';
import type { ConversationEvent } from '../../contracts/events.ts';
import type { Store } from '../../store/store.ts';

/** Yields a conversation's events after `afterSeq`; ends after its closing event, or when `signal` aborts. */
export async function* readEvents(
  store: Store,
  conversationId: string,
  { afterSeq, signal }: { afterSeq: number; signal: AbortSignal },
): AsyncGenerator<ConversationEvent> {
  const state = await store.conversations.stateOf(conversationId);
  if (state === undefined) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
  // A closed conversation gets no more events, and its closing event may lie before `afterSeq`.
  const events = state === 'closed' ? readStored(store, conversationId, afterSeq) : store.events.follow(conversationId, afterSeq, signal);
  for await (const event of events) {
    if (signal.aborted) return;
    yield event;
    if (event.type === 'conversation.closed') return;
  }
}

/** Yields the events that exist now. */
export async function* readStored(store: Store, conversationId: string, afterSeq: number): AsyncGenerator<ConversationEvent> {
  let cursor = afterSeq;
  for (;;) {
    const page = await store.events.read(conversationId, cursor);
    if (page.length === 0) return;
    yield* page;
    cursor = page.at(-1)?.seq ?? cursor;
  }
}
