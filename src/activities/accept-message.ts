import type { AcceptMessageArgs } from '../contracts/activities.ts';
import { failure } from '../contracts/errors.ts';
import type { NewEvent, Store } from '../store/store.ts';
import { onceEach } from '../tool-calls/results/once-each.ts';

/** Adds a user's message to the transcript, once, and starts its turn unless it joins a running one. */
export function createAcceptMessage({ store }: { store: Store }) {
  return async function acceptMessage({ conversationId, turnId, messageId, text: inline, steers, status }: AcceptMessageArgs): Promise<void> {
    const text = inline ?? (await store.messages.get(conversationId, messageId));
    if (text === undefined) throw failure('MESSAGE_INVALID', { problem: `the text of "${messageId}" is not in Postgres`, fix: 'Send it again' });
    await store.transcript.append(conversationId, turnId, undefined, messageId, { role: 'user', content: [{ type: 'text', text }] });
    const received: NewEvent = { type: 'message.received', turnId, data: { messageId, text, steers } };
    const events: NewEvent[] = steers ? [received] : [received, { type: 'turn.started', turnId, data: {} }];
    await store.conversations.saveStatus(status, onceEach(events));
  };
}
