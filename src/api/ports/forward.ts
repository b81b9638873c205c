import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { anySignal } from '../../common/any-signal.ts';
import { failure } from '../../contracts/errors.ts';
import { connectPort, type PortConnection } from '../../hosts/client/connect-port.ts';
import type { HostClient, Target } from '../../hosts/client/host-client.ts';
import { isUpgrade, takeUpgrade } from '../http/upgrades.ts';
import { untilGone } from '../http/until-gone.ts';
import { answerTo, requestOver } from './guest-answer.ts';
import { headersForGuest, headersOfGuest } from './guest-headers.ts';
import type { Place } from './place.ts';

/** A request for the server of a guest. */
export interface Forwarded {
  target: Target;
  port: number;
  /** The guest's own path, with the query. */
  path: string;
  place: Place;
  /** A connection over which nothing goes for so long is closed. */
  idleMs: number;
  /** Aborts when requests under way must end. */
  closing: AbortSignal;
}

interface Asked extends Forwarded {
  request: FastifyRequest;
  reply: FastifyReply;
  connection: PortConnection;
}

/** Passes a request to a port of a sandbox, and the answer back. What fails before the answer begins is thrown; later, the answer is broken off. */
export async function forward(hosts: HostClient, forwarded: Forwarded, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const gone = untilGone(reply.raw);
  const connection = await connectPort(hosts, forwarded.target, forwarded.port, anySignal([gone, forwarded.closing]));
  // What breaks it is told to who reads or writes it then.
  connection.on('error', () => undefined);
  const idle = watchIdle(connection, forwarded.idleMs);
  try {
    await (isUpgrade(request.raw) ? forwardUpgrade : forwardRequest)({ ...forwarded, request, reply, connection });
  } finally {
    clearInterval(idle);
    connection.destroy();
  }
}

async function forwardRequest(asked: Asked): Promise<void> {
  const { request, reply } = asked;
  const sent = ask(asked);
  const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
  if (length === undefined && chunked === undefined) sent.end();
  // A guest may answer before it has read everything; a body that is cut must not look like a whole one.
  else pipeline(request.raw, sent).catch((error: Error) => sent.destroy(request.raw.complete ? undefined : error));
  const { answer, upgraded } = await answerTo(sent, placeOf(asked));
  if (upgraded) throw failure('PORT_FAILED', { ...placeOf(asked), problem: 'it answers with another protocol' });
  await passAnswer(asked, answer);
  reply.raw.once('finish', () => request.raw.resume());
}

async function forwardUpgrade(asked: Asked): Promise<void> {
  const { request, reply, connection } = asked;
  const sent = ask(asked);
  sent.end();
  const { answer, upgraded } = await answerTo(sent, placeOf(asked));
  if (!upgraded) {
    await passAnswer(asked, answer);
    return;
  }
  const taken = takeUpgrade(request.raw);
  if (!taken) throw new Error('the connection was taken');
  reply.hijack();
  reply.raw.writeHead(101, { ...headersOfGuest(answer, asked.port, asked.place), connection: 'Upgrade', upgrade: 'websocket' }).end();
  reply.raw.detachSocket(taken.socket);
  connection.write(taken.head);
  taken.socket.write(upgraded.head);
  await join(taken.socket, connection, asked.closing);
  reply.raw.emit('close');
}

/** Sends the head of the request. */
function ask({ request, connection, port, place, path }: Asked) {
  const upgrade = isUpgrade(request.raw) ? { connection: 'Upgrade', upgrade: 'websocket' } : {};
  const headers = { ...headersForGuest(request.raw, port, place), ...upgrade };
  return requestOver({ connection, method: request.method, path, headers });
}

async function passAnswer({ request, reply, port, place }: Asked, answer: IncomingMessage): Promise<void> {
  const { raw } = reply;
  reply.hijack();
  // What is left of the request would be taken for the next one.
  const end = request.raw.complete ? {} : { connection: 'close' };
  raw.writeHead(answer.statusCode ?? 502, { ...headersOfGuest(answer, port, place), ...end });
  try {
    await pipeline(answer, raw);
  } catch (error) {
    request.log.info({ err: error, request: request.id }, 'an answer of a guest was broken off');
    raw.destroy();
  }
}

/** Carries bytes until both sides have ended; a break of one is a break of the other. */
async function join(caller: Socket, connection: PortConnection, closing: AbortSignal): Promise<void> {
  const leave = () => caller.destroy();
  closing.addEventListener('abort', leave, { once: true });
  caller.once('close', () => connection.destroy());
  try {
    await Promise.all([pipeline(caller, connection), pipeline(connection, caller)]);
  } catch {
    // One of both has broken it.
    caller.destroy();
  } finally {
    closing.removeEventListener('abort', leave);
  }
}

function placeOf({ port, target: { sandboxId } }: Forwarded): { port: number; sandboxId: string } {
  return { port, sandboxId };
}

function watchIdle(connection: PortConnection, idleMs: number): NodeJS.Timeout {
  return setInterval(
    () => {
      if (performance.now() - connection.touchedAt > idleMs) connection.destroy(new Error('nothing passed over the connection'));
    },
    Math.ceil(idleMs / 4),
  );
}
