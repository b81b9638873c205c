import type { FastifyRequest } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { isFailure } from '../../contracts/errors.ts';
import type { OpenCall } from '../../hosts/client/open-call.ts';
import { problemOf } from '../http/problem.ts';
import type { StreamTimes } from '../stream/stream-times.ts';
import { readSaid } from './terminal-messages.ts';
import { watchClient, type ClientWatch } from './watch-client.ts';

interface Session {
  socket: WebSocket;
  call: OpenCall;
  /** The first byte of output. */
  from: number;
  idleMs: number;
  times: StreamTimes;
  closing: AbortSignal;
}

/** Codes of RFC 6455. */
const CLOSE = { done: 1000, away: 1001, malformed: 1008, failed: 1011 } as const;
/** A client that does not answer the end of the connection is cut. */
const FAREWELL_MS = 2_000;

/** Carries a terminal to a client, at the pace of each side, until one of them ends. */
export async function runSession({ socket, call, from, idleMs, times, closing }: Session, request: FastifyRequest): Promise<void> {
  const leave = () => socket.close(CLOSE.away, 'the service stops; connect again from the last byte');
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      call.abort();
      resolve();
    });
  });
  // The end follows an error.
  socket.on('error', (error) => request.log.debug({ err: error, request: request.id }, 'a terminal was cut'));
  const watch = watchClient(socket, { idleMs, times });
  closing.addEventListener('abort', leave, { once: true });
  takeInput(socket, call, watch);
  try {
    await send(socket, JSON.stringify({ type: 'ready', from }));
    await passOutput(socket, call, watch);
  } catch (error) {
    if (socket.readyState === socket.OPEN) await tellFailure(socket, error, request);
  } finally {
    setTimeout(() => socket.terminate(), FAREWELL_MS).unref();
    await closed;
    watch.stop();
    closing.removeEventListener('abort', leave);
  }
}

async function passOutput(socket: WebSocket, { messages }: OpenCall, watch: ClientWatch): Promise<void> {
  for await (const message of messages) {
    if (message.kind === 'data') await send(socket, message.bytes);
    else await send(socket, JSON.stringify({ type: 'exit', ...(message.value as object) }));
    watch.touch();
    watch.taken();
  }
  socket.close(CLOSE.done);
}

async function tellFailure(socket: WebSocket, error: unknown, request: FastifyRequest): Promise<void> {
  if (!isFailure(error)) request.log.warn({ err: error, request: request.id }, 'a terminal failed');
  await send(socket, JSON.stringify({ type: 'problem', problem: problemOf(error, request).problem })).catch(() => undefined);
  socket.close(CLOSE.failed);
}

/** What comes next is not read until what came is taken. */
function takeInput(socket: WebSocket, call: OpenCall, watch: ClientWatch): void {
  const take = async (data: RawData, isBinary: boolean) => {
    if (isBinary) return call.sender.data(data as Buffer);
    const said = readSaid((data as Buffer).toString());
    if (!said) return socket.close(CLOSE.malformed, 'a text that means nothing here');
    return said.type === 'input' ? call.sender.data(Buffer.from(said.text)) : call.sender.json(said);
  };
  socket.on('message', (data, isBinary) => {
    watch.touch();
    socket.pause();
    take(data, isBinary)
      // A worker that has gone is told by the messages that do not come.
      .catch(() => undefined)
      .finally(() => socket.resume());
  });
}

/** Resolves when the bytes are on their way, so that no more than one piece waits. */
function send(socket: WebSocket, data: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(data, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}
