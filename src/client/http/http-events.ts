import { setTimeout as sleep } from 'node:timers/promises';
import { createFrameSplitter } from './split-frames.ts';
import { parseForeign } from '../../contracts/foreign-json.ts';
import type { ConversationEvent } from '../../contracts/events.ts';
import { isPassing, type HttpLink } from './http-link.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Yields a conversation's events after `afterSeq`, each once, until its closing event or until `signal` aborts. A stream that is cut is opened again where it
 * was, at any process of the service, however long that takes. The first one must succeed.
 */
export async function* httpEvents(
  link: HttpLink,
  conversationId: string,
  { afterSeq, signal }: { afterSeq: number; signal: AbortSignal },
): AsyncGenerator<ConversationEvent> {
  let cursor = afterSeq;
  let isKnown = false;
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      const path = `/v1/conversations/${encodeURIComponent(conversationId)}/events`;
      const answer = await link.open(path, { headers: { accept: 'text/event-stream', 'last-event-id': String(cursor) }, signal });
      if (answer.status === 204) return;
      isKnown = true;
      for await (const event of eventsIn(answer)) {
        [cursor, pause] = [event.seq, FIRST_PAUSE_MS];
        yield event;
        if (event.type === 'conversation.closed' || signal.aborted) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isKnown || (!isPassing(error) && !isCut(error))) throw error;
    }
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

async function* eventsIn({ body }: Response): AsyncGenerator<ConversationEvent> {
  const split = createFrameSplitter();
  for await (const chunk of body ?? []) {
    for (const frame of split(chunk as Uint8Array)) {
      const data = frame.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
      if (data.length > 0) yield parseForeign(data.join('\n')) as unknown as ConversationEvent;
    }
  }
}

/** What `fetch` throws when a connection ends in the midst of an answer. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError && error.message === 'terminated';
}
