import { setTimeout as sleep } from 'node:timers/promises';
import { anySignal } from '../../common/any-signal.ts';
import { spread } from './spread.ts';
import { createFrameSplitter } from './split-frames.ts';
import type { ConversationEvent } from '../../contracts/events.ts';
import type { TreeEvent } from '../events/read-tree.ts';
import { askAgainAfter, Silence, type HttpLink } from './http-link.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** The service says something every 15 seconds. A connection whose other end is gone may say nothing for ever. */
const SILENT_MS = 60_000;

interface Reading {
  /** Of the service. */
  path: string;
  /** The `id` of the last event that the reader has. */
  after: string;
  signal: AbortSignal;
  /** A stream that says nothing for so long is opened again. */
  silentMs?: number | undefined;
  isLast: (event: ConversationEvent) => boolean;
}

/** Yields a conversation's events after `afterSeq`, each once, until its closing event or until `signal` aborts. */
export async function* httpEvents(
  link: HttpLink,
  conversationId: string,
  { afterSeq, signal, silentMs }: { afterSeq: number; signal: AbortSignal; silentMs?: number },
): AsyncGenerator<ConversationEvent> {
  const isLast = ({ type }: ConversationEvent) => type === 'conversation.closed';
  for await (const { event } of follow(link, { path: `${at(conversationId)}/events`, after: String(afterSeq), signal, silentMs, isLast })) yield event;
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
async function* follow(link: HttpLink, { path, after, signal, silentMs = SILENT_MS, isLast }: Reading): AsyncGenerator<ReceivedEvent> {
  let cursor = after;
  let isKnown = false;
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    let leastMs = 0;
    const watch = watchFor(silentMs, signal);
    try {
      const headers = { accept: 'text/event-stream', ...(cursor !== '' && { 'last-event-id': cursor }) };
      const answer = await watch.next(() => link.open(path, { headers, signal: watch.signal }));
      if (answer.status === 204) return;
      await link.requireType(answer, 'text/event-stream');
      isKnown = true;
      for await (const received of eventsIn(watch.all(link.bytes(answer, watch.signal)))) {
        [cursor, pause] = [received.id, FIRST_PAUSE_MS];
        yield received;
        if (isLast(received.event) || signal.aborted) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      const againMs = isKnown ? askAgainAfter(error) : undefined;
      if (againMs === undefined) throw error;
      leastMs = againMs;
    }
    await sleep(leastMs + spread(pause), undefined, { signal }).catch(() => undefined);
  }
}

/** Gives up what is awaited for too long; the time in which the reader is busy with what it has got does not count. `signal` aborts then, or with the given one. */
function watchFor(silentMs: number, given: AbortSignal) {
  const silence = new AbortController();
  const next = async <T>(awaited: () => Promise<T>): Promise<T> => {
    const timer = setTimeout(() => silence.abort(new Silence(`nothing came for ${silentMs / 1000} s`)), silentMs);
    return awaited().finally(() => clearTimeout(timer));
  };
  return {
    signal: anySignal([given, silence.signal]),
    next,
    async *all(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
      try {
        for (let chunk = await next(() => chunks.next()); !chunk.done; chunk = await next(() => chunks.next())) yield chunk.value;
      } finally {
        await chunks.return(undefined);
      }
    },
  };
}

interface ReceivedEvent {
  id: string;
  event: ConversationEvent;
}

async function* eventsIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ReceivedEvent> {
  const split = createFrameSplitter();
  for await (const chunk of bytes) {
    for (const frame of split(chunk)) {
      const lines = frame.split('\n');
      const valuesOf = (field: string) => lines.flatMap((line) => (line.startsWith(field) ? [line.slice(field.length)] : []));
      const data = valuesOf('data: ');
      const [id = ''] = valuesOf('id: ');
      if (data.length > 0) yield { id, event: JSON.parse(data.join('\n')) as ConversationEvent };
    }
  }
}
