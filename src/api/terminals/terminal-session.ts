import type { FastifyRequest } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { isFailure } from '../../contracts/errors.ts';
import type { OpenCall } from '../../hosts/client/open-call.ts';
import { problemOf } from '../http/problem.ts';
import { readSaid } from './terminal-messages.ts';

interface Session {
  socket: WebSocket;
  call: OpenCall;
  /** The first byte of output. */
  from: number;
  idleMs: number;
  closing: AbortSignal;
}

/** Codes of RFC 6455, and one of ours. */
const CLOSE = { done: 1000, away: 1001, malformed: 1008, failed: 1011, idle: 4008 } as const;
/** What closes an idle connection elsewhere sees these. */
const PING_MS = 15_000;
/** A client that does not answer the end of the connection is cut. */
const FAREWELL_MS = 2_000;

/** Carries a terminal to a client, at the pace of each side, until one of them ends. */
export async function runSession({ socket, call, from, idleMs, closing }: Session, request: FastifyRequest): Promise<void> {
  let touchedAt = performance.now();
  const touch = () => (touchedAt = performance.now());
  const leave = () => socket.close(CLOSE.away, 'the service stops; connect again from the last byte');
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      call.abort();
      resolve();
    });
  });
  // The end follows an error.
  socket.on('error', (error) => request.log.debug({ err: error, request: request.id }, 'a terminal was cut'));
  const beat = setInterval(
    () => {
      if (performance.now() - touchedAt > idleMs) socket.close(CLOSE.idle, 'nothing was sent for too long');
      else if (socket.bufferedAmount === 0) socket.ping();
    },
    Math.min(PING_MS, idleMs),
  );
  closing.addEventListener('abort', leave, { once: true });
  takeInput(socket, call, touch);
  try {
    await send(socket, JSON.stringify({ type: 'ready', from }));
    await passOutput(socket, call, touch);
  } catch (error) {
    if (socket.readyState === socket.OPEN) await tellFailure(socket, error, request);
  } finally {
    setTimeout(() => socket.terminate(), FAREWELL_MS).unref();
    await closed;
    clearInterval(beat);
    closing.removeEventListener('abort', leave);
  }
}

async function passOutput(socket: WebSocket, { messages }: OpenCall, touch: () => void): Promise<void> {
  for await (const message of messages) {
    if (message.kind === 'data') await send(socket, message.bytes);
    else await send(socket, JSON.stringify({ type: 'exit', ...(message.value as object) }));
    touch();
  }
  socket.close(CLOSE.done);
}

async function tellFailure(socket: WebSocket, error: unknown, request: FastifyRequest): Promise<void> {
  if (!isFailure(error)) request.log.warn({ err: error, request: request.id }, 'a terminal failed');
  await send(socket, JSON.stringify({ type: 'problem', problem: problemOf(error, request).problem })).catch(() => undefined);
  socket.close(CLOSE.failed);
}

/** What comes next is not read until what came is taken. */
function takeInput(socket: WebSocket, call: OpenCall, touch: () => void): void {
  const take = async (data: RawData, isBinary: boolean) => {
    if (isBinary) return call.sender.data(data as Buffer);
    const said = readSaid((data as Buffer).toString());
    if (!said) return socket.close(CLOSE.malformed, 'a text that means nothing here');
    return said.type === 'input' ? call.sender.data(Buffer.from(said.text)) : call.sender.json(said);
  };
  socket.on('message', (data, isBinary) => {
    touch();
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
