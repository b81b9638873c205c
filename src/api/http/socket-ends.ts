import type { IncomingMessage, ServerResponse } from 'node:http';

/** How a connection has ended that carried something else than an answer. */
export interface SocketEnd {
  /** 101 for a WebSocket. */
  status: number;
  isBroken: boolean;
}

const ends = new WeakMap<IncomingMessage, SocketEnd>();

/** Says that the connection has ended, which a route has taken from a request. */
export function endSocket(request: IncomingMessage, response: ServerResponse, end: SocketEnd): void {
  ends.set(request, end);
  response.emit('close');
}

/** Undefined for a request whose connection no route has taken. */
export function socketEndOf(request: IncomingMessage): SocketEnd | undefined {
  return ends.get(request);
}
