import type { ServerResponse } from 'node:http';
import { anySignal } from '../../common/any-signal.ts';
import { readTree } from '../../client/events/read-tree.ts';
import type { TreePlace } from '../../client/events/tree-cursor.ts';
import type { Store } from '../../store/store.ts';
import { HEAD } from './event-view.ts';
import { writeInTime } from './write-in-time.ts';

export interface TreeStreamOptions {
  place: TreePlace;
  /** Ends the stream: the reader goes on at another process. */
  signal: AbortSignal;
  stalledMs: number;
}

/** Sends the events of a tree of conversations from a place on, until all of it is closed, or `signal`. The `id` of each is the place behind it. */
export async function streamTree(response: ServerResponse, store: Store, { place, signal: stop, stalledMs }: TreeStreamOptions): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  // A reader that has gone already says so no more.
  if (response.destroyed) return;
  const signal = anySignal([gone.signal, stop]);
  const write = (text: string) => writeInTime(response, text, { signal, stalledMs });
  try {
    await write(HEAD);
    for await (const { cursor, ...event } of readTree(store, place, signal)) await write(`id: ${cursor}\ndata: ${JSON.stringify(event)}\n\n`);
  } finally {
    response.end();
  }
}
