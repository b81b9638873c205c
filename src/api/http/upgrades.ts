import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Api } from './route-parts.ts';
import { keyInProtocol } from '../auth/key-in-protocol.ts';
import type { AccessLog } from './access-log.ts';

/** A connection of which the caller wants to make a WebSocket. */
export interface Upgrade {
  socket: Socket;
  /** What the caller has sent already, beyond the head of the request. */
  head: Buffer;
}

const WANTED = Symbol('upgrade');
const open = new WeakMap<IncomingMessage, Upgrade>();

/** A request that asks for any other protocol, such as HTTP/2, is one without that wish: as HTTP has it. */
export class Request extends IncomingMessage {
  declare [WANTED]: boolean | null;

  get upgrade(): boolean {
    return this[WANTED] === true && this.method === 'GET' && this.headers.upgrade?.toLowerCase() === 'websocket';
  }

  /** Node.js says here whether there is a wish at all. */
  set upgrade(wanted: boolean | null) {
    this[WANTED] = wanted;
  }
}

/** Gives requests for a WebSocket to the routes, with all their checks. A route that does not take the connection answers as it does without the wish. */
export function routeUpgrades({ server, routing }: Pick<Api, 'server' | 'routing'>, access: Pick<AccessLog, 'follow'>): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => {
      if (open.has(request)) socket.end();
    });
    socket.on('error', () => socket.destroy());
    open.set(request, { socket, head });
    access.follow(request, response);
    keyInProtocol(request);
    routing(request, response);
  });
}

/** Whether the request asks for a WebSocket. */
export function isUpgrade(request: IncomingMessage): boolean {
  return open.has(request);
}

/** Takes the connection of a request that asks for a WebSocket; undefined for another request. Who takes it says when it has ended, with `endSocket`. */
export function takeUpgrade(request: IncomingMessage): Upgrade | undefined {
  const upgrade = open.get(request);
  open.delete(request);
  return upgrade;
}
