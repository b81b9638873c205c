import { once } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { WebSocketServer, type WebSocket } from 'ws';
import { takeUpgrade } from '../http/upgrades.ts';
import { TERMINAL_PROTOCOL } from '../auth/key-in-protocol.ts';

const MOST_BYTES = 1_000_000;

const server = new WebSocketServer({
  noServer: true,
  maxPayload: MOST_BYTES,
  // Compression keeps memory for each connection.
  perMessageDeflate: false,
  // Never the one that has the key.
  handleProtocols: (offered) => (offered.has(TERMINAL_PROTOCOL) ? TERMINAL_PROTOCOL : false),
});

/** Makes the connection of a request a WebSocket. @throws when the caller has gone, or its handshake is wrong, which it has been told */
export async function acceptSocket(request: FastifyRequest, reply: FastifyReply): Promise<WebSocket> {
  const taken = takeUpgrade(request.raw);
  if (!taken) throw new Error('the connection was taken');
  reply.hijack();
  reply.raw.detachSocket(taken.socket);
  const refused = once(taken.socket, 'close').then(() => {
    throw new Error('the handshake failed');
  });
  const accepted = new Promise<WebSocket>((resolve) => server.handleUpgrade(request.raw, taken.socket, taken.head, resolve));
  refused.catch(() => undefined);
  return Promise.race([accepted, refused]);
}
