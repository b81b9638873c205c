import type { ServerResponse } from 'node:http';
import { anySignal } from '../../common/any-signal.ts';
import { whenReachable } from '../../store/database/when-reachable.ts';
import type { Store } from '../../store/store.ts';
import type { FrameReader } from './event-frames.ts';
import type { EventView } from './event-view.ts';
import { writeInTime } from './write-in-time.ts';

export interface StreamOptions {
  conversationId: string;
  /** The number of the last event that is not shown. */
  afterSeq: number;
  view: EventView;
  /** Ends the stream: the reader goes on at another process. */
  signal: AbortSignal;
}

export interface StreamParts {
  events: Pick<Store['events'], 'news'>;
  readFrames: FrameReader;
}

/**
 * Sends the events after `afterSeq` and then those that come, until the view has shown all of what it shows, or `signal`. Keeps one page of a slow reader, which
 * waits in the connection, and reads the next one when that has been taken.
 */
export async function streamEvents(response: ServerResponse, parts: StreamParts, options: StreamOptions & { stalledMs: number }): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  // A reader that has gone already says so no more.
  if (response.destroyed) return;
  const signal = anySignal([gone.signal, options.signal]);
  const write = (text: string) => writeInTime(response, text, { signal, stalledMs: options.stalledMs });
  let isWhole = false;
  try {
    await write(options.view.head);
    isWhole = await followEvents(parts, { ...options, signal }, write);
  } finally {
    if (isWhole || options.view.mayBeCut) response.end();
    else response.destroy();
  }
}

/** Gives the view's texts to `take`, one after the other. Returns whether the view has shown all of what it shows; otherwise, `signal` was the end. */
export async function followEvents(
  { events, readFrames }: StreamParts,
  options: StreamOptions,
  take: (text: string) => Promise<void> | void,
): Promise<boolean> {
  const { conversationId, view, signal } = options;
  let cursor = options.afterSeq;
  for await (const _ of events.news(conversationId, signal)) {
    for (;;) {
      const frames = await whenReachable(() => readFrames(conversationId, cursor), signal);
      if (signal.aborted) return false;
      const { text, isWhole } = view.show(frames);
      await take(text);
      if (isWhole || signal.aborted) return isWhole;
      if (frames.length === 0) break;
      cursor = frames.at(-1)?.event.seq ?? cursor;
    }
  }
  return false;
}
