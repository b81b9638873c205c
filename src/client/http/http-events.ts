import { setTimeout as sleep } from 'node:timers/promises';
import { createFrameSplitter } from './split-frames.ts';
import { parseForeign } from '../../contracts/foreign-json.ts';
import type { ConversationEvent } from '../../contracts/events.ts';
import type { TreeEvent } from '../events/read-tree.ts';
import { isPassing, type HttpLink } from './http-link.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

interface Reading {
  /** Of the service. */
  path: string;
  /** The `id` of the last event that the reader has. */
  after: string;
  signal: AbortSignal;
  isLast: (event: ConversationEvent) => boolean;
}

/** Yields a conversation's events after `afterSeq`, each once, until its closing event or until `signal` aborts. */
export async function* httpEvents(
  link: HttpLink,
  conversationId: string,
  { afterSeq, signal }: { afterSeq: number; signal: AbortSignal },
): AsyncGenerator<ConversationEvent> {
  const isLast = ({ type }: ConversationEvent) => type === 'conversation.closed';
  for await (const { event } of follow(link, { path: `${at(conversationId)}/events`, after: String(afterSeq), signal, isLast })) yield event;
}

/** Yields the events of a tree of conversations. */
export async function* httpTreeEvents(
  link: HttpLink,
  conversationId: string,
  { after = '', signal }: { after?: string | undefined; signal: AbortSignal },
): AsyncGenerator<TreeEvent> {
  for await (const { id, event } of follow(link, { path: `${at(conversationId)}/tree/events`, after, signal, isLast: () => false }))
    yield { ...event, cursor: id };
}

const at = (conversationId: string) => `/v1/conversations/${encodeURIComponent(conversationId)}`;

/**
 * Yields events, each once. A stream that is cut is opened again where it was, at any process of the service, however long that takes. The first one must
 * succeed.
 */
async function* follow(link: HttpLink, { path, after, signal, isLast }: Reading): AsyncGenerator<ReceivedEvent> {
  let cursor = after;
  let isKnown = false;
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      const headers = { accept: 'text/event-stream', ...(cursor !== '' && { 'last-event-id': cursor }) };
      const answer = await link.open(path, { headers, signal });
      if (answer.status === 204) return;
      isKnown = true;
      for await (const received of eventsIn(answer)) {
        [cursor, pause] = [received.id, FIRST_PAUSE_MS];
        yield received;
        if (isLast(received.event) || signal.aborted) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isKnown || (!isPassing(error) && !isCut(error))) throw error;
    }
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

interface ReceivedEvent {
  id: string;
  event: ConversationEvent;
}

async function* eventsIn({ body }: Response): AsyncGenerator<ReceivedEvent> {
  const split = createFrameSplitter();
  for await (const chunk of body ?? []) {
    for (const frame of split(chunk as Uint8Array)) {
      const lines = frame.split('\n');
      const valuesOf = (field: string) => lines.flatMap((line) => (line.startsWith(field) ? [line.slice(field.length)] : []));
      const data = valuesOf('data: ');
      const [id = ''] = valuesOf('id: ');
      if (data.length > 0) yield { id, event: parseForeign(data.join('\n')) as unknown as ConversationEvent };
    }
  }
}

/** What `fetch` throws when a connection ends in the midst of an answer. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError && error.message === 'terminated';
}
