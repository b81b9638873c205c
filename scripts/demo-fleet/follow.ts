import type { Chat } from '../../src/client.ts';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { Narrator } from '../demo/narrator.ts';

const WHOLE_DEMO_MS = 8 * 60_000;

/** Prints the events up to and with the one that is meant, and returns it. */
export type Until = (what: string, isMeant: (event: ConversationEvent) => boolean) => Promise<ConversationEvent>;

/** Reads the events of a conversation in their order, each once, until it is disposed. A turn that fails is an error. */
export function follow(chat: Chat, narrator: Narrator): AsyncDisposable & { until: Until } {
  const events = chat.events({ signal: AbortSignal.timeout(WHOLE_DEMO_MS) })[Symbol.asyncIterator]();
  return {
    async until(what, isMeant) {
      for (;;) {
        const next = await events.next();
        if (next.done === true) throw new Error(`the conversation ended before this came: ${what}`);
        const event = next.value;
        narrator.event(event);
        if (event.type === 'turn.finished' && event.data.outcome !== 'finished') throw new Error(`a turn ended as ${event.data.outcome}`);
        if (isMeant(event)) return event;
      }
    },
    async [Symbol.asyncDispose]() {
      await events.return?.();
    },
  };
}
