import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteParts } from './route-parts.ts';
import { leastOf } from '../auth/limits-of-caller.ts';
import { streamEvents, type StreamOptions } from '../stream/stream-events.ts';

export type PreparedStream = Omit<StreamOptions, 'signal'> & { headers?: Record<string, string> };

const HEAD = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-content-type-options': 'nosniff',
  // Proxies of the nginx family would collect events otherwise.
  'x-accel-buffering': 'no',
};

/** Answers a request with a stream, which `prepare` makes when the caller may have another one. @throws STREAM_LIMIT */
export async function answerWithStream(
  { streams, store, readFrames }: Pick<RouteParts, 'streams' | 'store' | 'readFrames'>,
  { caller, held }: FastifyRequest,
  reply: FastifyReply,
  prepare: () => Promise<PreparedStream>,
): Promise<void> {
  const send = async (signal: AbortSignal) => {
    const { headers, ...options } = await prepare();
    reply.hijack();
    reply.raw.writeHead(200, { ...HEAD, ...headers });
    await streamEvents(reply.raw, { events: store.events, readFrames }, { ...options, signal, stalledMs: streams.stalledMs });
  };
  await streams.run(caller.keyId, reply.raw, send, leastOf(held, 'streams'));
}
