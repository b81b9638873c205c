import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteParts } from './route-parts.ts';
import { leastOf } from '../auth/limits-of-caller.ts';
import type { TreePlace } from '../../client/events/tree-cursor.ts';
import { streamEvents, type StreamOptions } from '../stream/stream-events.ts';
import { streamTree } from '../stream/stream-tree.ts';

export type PreparedStream = Omit<StreamOptions, 'signal'> & { headers?: Record<string, string> };

const HEAD = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-content-type-options': 'nosniff',
  // Proxies of the nginx family would collect events otherwise.
  'x-accel-buffering': 'no',
};

type StreamOwner = Pick<RouteParts, 'streams' | 'store' | 'readFrames'>;

/** Answers a request with a stream, which `prepare` makes when the caller may have another one. @throws STREAM_LIMIT */
export async function answerWithStream(
  parts: StreamOwner,
  request: FastifyRequest,
  reply: FastifyReply,
  prepare: () => Promise<PreparedStream>,
): Promise<void> {
  const { store, readFrames } = parts;
  await answer(parts, request, reply, async (within) => {
    const { headers, ...options } = await prepare();
    return { headers, send: () => streamEvents(reply.raw, { events: store.events, readFrames }, { ...options, ...within }) };
  });
}

/** Answers a request with the events of a tree of conversations, as `answerWithStream` does with those of one. @throws STREAM_LIMIT */
export async function answerWithTree(parts: StreamOwner, request: FastifyRequest, reply: FastifyReply, place: TreePlace): Promise<void> {
  await answer(parts, request, reply, async (within) => ({ send: () => streamTree(reply.raw, parts.store, { place, ...within }) }));
}

interface Prepared {
  headers?: Record<string, string> | undefined;
  send: () => Promise<void>;
}

async function answer(
  { streams }: StreamOwner,
  { caller, held }: FastifyRequest,
  reply: FastifyReply,
  prepare: (within: { signal: AbortSignal; stalledMs: number }) => Promise<Prepared>,
): Promise<void> {
  const run = async (signal: AbortSignal) => {
    const { headers, send } = await prepare({ signal, stalledMs: streams.stalledMs });
    reply.hijack();
    reply.raw.writeHead(200, { ...HEAD, ...headers });
    await send();
  };
  await streams.run(caller.keyId, reply.raw, run, leastOf(held, 'streams'));
}
