import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { anySignal } from '../../common/any-signal.ts';
import { failure } from '../../contracts/errors.ts';
import { connectPort, type PortConnection } from '../../hosts/client/connect-port.ts';
import type { HostClient, Target } from '../../hosts/client/host-client.ts';
import { endSocket } from '../http/socket-ends.ts';
import { isUpgrade, takeUpgrade } from '../http/upgrades.ts';
import { untilGone } from '../http/until-gone.ts';
import { answerTo, requestOver } from './guest-answer.ts';
import { headersForGuest, headersOfGuest } from './guest-headers.ts';
import type { Place } from './place.ts';

/** What passes is the guest's, so that no ping can be added; the system asks whether the caller's machine is still there. */
const KEEP_ALIVE_MS = 15_000;

/** A request for the server of a guest. */
export interface Forwarded {
  target: Target;
  port: number;
  /** The guest's own path, with the query. */
  path: string;
  place: Place;
  /** A connection over which nothing goes for so long is closed. */
  idleMs: number;
  /** A caller that takes nothing for so long of what waits for it is cut off. */
  stalledMs: number;
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
  const idle = watchIdle(connection, reply.raw, { ...forwarded, caller: request.raw.socket });
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
  taken.socket.setKeepAlive(true, KEEP_ALIVE_MS);
  const isBroken = await join(taken.socket, connection, asked.closing);
  endSocket(request.raw, reply.raw, { status: 101, isBroken });
}

/** Sends the head of the request. */
function ask({ request, connection, port, place, path }: Asked) {
  const upgrade = isUpgrade(request.raw) ? { connection: 'Upgrade', upgrade: 'websocket' } : {};
  const headers = { ...headersForGuest(request.raw, port, place), ...upgrade };
  return requestOver({ connection, method: request.method, path, headers });
}

async function passAnswer({ request, reply, connection, port, place }: Asked, answer: IncomingMessage): Promise<void> {
  const { raw } = reply;
  reply.hijack();
  // What is left of the request would be taken for the next one.
  const end = request.raw.complete ? {} : { connection: 'close' };
  raw.writeHead(answer.statusCode ?? 502, { ...headersOfGuest(answer, port, place), ...end });
  // To Node.js, a break is the end of an answer without a length.
  connection.prependOnceListener('error', (error) => answer.destroy(error));
  try {
    await pipeline(answer, raw);
  } catch (error) {
    request.log.info({ err: error, request: request.id }, 'an answer of a guest was broken off');
    raw.destroy();
  }
}

/** Carries bytes until both sides have ended; a break of one is a break of the other. Returns whether one of them broke it. */
async function join(caller: Socket, connection: PortConnection, closing: AbortSignal): Promise<boolean> {
  const leave = () => caller.destroy();
  closing.addEventListener('abort', leave, { once: true });
  caller.once('close', () => connection.destroy());
  try {
    await Promise.all([pipeline(caller, connection), pipeline(connection, caller)]);
    return false;
  } catch {
    caller.destroy();
    return true;
  } finally {
    closing.removeEventListener('abort', leave);
  }
}

function placeOf({ port, target: { sandboxId } }: Forwarded): { port: number; sandboxId: string } {
  return { port, sandboxId };
}

interface Patience extends Pick<Forwarded, 'idleMs' | 'stalledMs'> {
  caller: Socket;
}

/** Cuts off a caller that has been told something already. What is left of a whole answer waits for it too, when the connection to the guest has ended. */
function watchIdle(connection: PortConnection, response: ServerResponse, { caller, idleMs, stalledMs }: Patience): NodeJS.Timeout {
  const soonest = Math.min(stalledMs, idleMs);
  return setInterval(
    () => {
      if (performance.now() - connection.touchedAt <= (caller.writableLength > 0 ? soonest : idleMs)) return;
      connection.destroy(new Error('nothing passed over the connection'));
      if (response.headersSent) caller.destroy();
    },
    Math.ceil(soonest / 4),
  );
}
