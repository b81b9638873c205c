import { once } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { WebSocketServer, type WebSocket } from 'ws';
import { endSocket } from '../http/socket-ends.ts';
import { takeUpgrade } from '../http/upgrades.ts';
import { TERMINAL_PROTOCOL } from '../auth/key-in-protocol.ts';

const MOST_BYTES = 1_000_000;
/** The code of a connection that was cut. */
const CUT = 1006;

const server = new WebSocketServer({
  noServer: true,
  maxPayload: MOST_BYTES,
  // Compression keeps memory for each connection.
  perMessageDeflate: false,
  // Never the one that has the key.
  handleProtocols: (offered) => (offered.has(TERMINAL_PROTOCOL) ? TERMINAL_PROTOCOL : false),
});

/** Makes the connection of a request a WebSocket. @throws when the caller has gone, or its handshake is wrong, which it has been told */
export async function acceptSocket({ raw }: FastifyRequest, reply: FastifyReply): Promise<WebSocket> {
  const taken = takeUpgrade(raw);
  if (!taken) throw new Error('the connection was taken');
  // Its end, which is waited for below, would not be told again.
  if (taken.socket.destroyed) throw new Error('the caller has gone');
  reply.hijack();
  reply.raw.detachSocket(taken.socket);
  const accepted = await Promise.race([
    new Promise<WebSocket>((resolve) => server.handleUpgrade(raw, taken.socket, taken.head, resolve)),
    once(taken.socket, 'close').then(() => undefined),
  ]);
  if (!accepted) {
    endSocket(raw, reply.raw, { status: 400, isBroken: false });
    throw new Error('the handshake failed');
  }
  accepted.once('close', (code) => endSocket(raw, reply.raw, { status: 101, isBroken: code === CUT }));
  return accepted;
}
