import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFailure } from '../../contracts/errors.ts';
import type { EventType } from '../../contracts/events.ts';
import type { Store } from '../../store/store.ts';
import type { EventFrame, FrameReader } from './event-frames.ts';

export interface StreamOptions {
  conversationId: string;
  /** The number of the last event that the reader has. */
  afterSeq: number;
  /** Only events of these types; undefined: all. */
  types: ReadonlySet<EventType> | undefined;
  /** The stream ends after the first event of this type. */
  until: EventType | undefined;
  /** Ends the stream: the reader goes on at another process. */
  signal: AbortSignal;
}

export interface StreamParts {
  events: Pick<Store['events'], 'news'>;
  readFrames: FrameReader;
}

/** A reader that takes nothing for so long is disconnected. It loses nothing: it connects again and says where it was. */
const STALLED_MS = 60_000;
const RETRY_MS = 2_000;
/** Tells the reader how long to wait before it connects again, in milliseconds. */
const HEAD = 'retry: 1000\n\n';

/**
 * Sends the events after `afterSeq` and then those that come, until the conversation's last event, `until`, or `signal`. Keeps one page of a slow reader, which
 * waits in the connection, and reads the next one when that has been taken.
 */
export async function streamEvents(response: ServerResponse, parts: StreamParts, options: StreamOptions): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  // A reader that has gone already says so no more.
  if (response.destroyed) return;
  const signal = AbortSignal.any([gone.signal, options.signal]);
  try {
    await write(response, HEAD, signal);
    await pump(response, parts, { ...options, signal });
  } finally {
    response.end();
  }
}

async function pump(response: ServerResponse, { events, readFrames }: StreamParts, options: StreamOptions): Promise<void> {
  const { conversationId, types, until, signal } = options;
  let cursor = options.afterSeq;
  for await (const _ of events.news(conversationId, signal)) {
    for (;;) {
      const frames = await whenReachable(() => readFrames(conversationId, cursor), signal);
      const last = frames.findIndex(({ type }) => type === 'conversation.closed' || type === until);
      const sent = last === -1 ? frames : frames.slice(0, last + 1);
      if (signal.aborted) return;
      await write(response, textOf(sent, types), signal);
      if (last !== -1 || signal.aborted) return;
      if (frames.length === 0) break;
      cursor = frames.at(-1)?.seq ?? cursor;
    }
  }
}

function textOf(frames: readonly EventFrame[], types: ReadonlySet<EventType> | undefined): string {
  return frames.flatMap(({ type, text }) => (!types || types.has(type) ? [text] : [])).join('');
}

/** While the database cannot be reached, the stream stays open and waits for it. */
async function whenReachable<T>(read: () => Promise<readonly T[]>, signal: AbortSignal): Promise<readonly T[]> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!isFailure(error, 'POSTGRES_UNAVAILABLE')) throw error;
      if (!(await sleep(RETRY_MS, true, { signal }).catch(() => false))) return [];
    }
  }
}

/** Resolves when the connection has room again, or has ended. A reader that makes no room in time is disconnected. */
async function write(response: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  if (text === '' || response.write(text) || signal.aborted) return;
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(STALLED_MS)]);
  await once(response, 'drain', { signal: inTime }).catch(() => signal.aborted || response.destroy());
}
