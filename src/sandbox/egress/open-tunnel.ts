import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { admit, type EgressParts } from './admit.ts';
import type { Tally } from './decisions.ts';
import { CONNECT_TIMEOUT_MS, pinned } from './forward.ts';
import { joinStreams } from './join-streams.ts';
import { refuseConnection } from './refuse.ts';
import { parseTarget, type Target } from './rules.ts';

/** Where a connection that is opened on the way leads. */
export interface Inner {
  target: Target;
  secure: boolean;
}

const TLS_HANDSHAKE = 0x16;

/** Answers a CONNECT. `enter` is given a connection whose requests are to be read here. */
export async function openTunnel(
  parts: EgressParts,
  asked: string,
  socket: Duplex,
  head: Buffer,
  enter: (opened: Duplex, where: Inner) => void,
): Promise<void> {
  socket.on('error', () => socket.destroy());
  const admitted = await admit(parts, parseTarget(asked), asked);
  if ('refusal' in admitted) return refuseConnection(socket, admitted.refusal);
  if (socket.destroyed) return undefined;
  if (head.length > 0) socket.unshift(head);
  const { target, rule, addresses, tally } = admitted;
  if (rule.headers && Object.keys(rule.headers).length > 0) return intercept(parts, target, socket, enter);
  return passThrough(target, addresses, socket, tally);
}

/** Bytes are carried as they are: what is encrypted stays so from end to end. */
function passThrough(target: Target, addresses: string[], socket: Duplex, tally: Tally): void {
  const remote = connect({ host: target.host, port: target.port, lookup: pinned(addresses), allowHalfOpen: true });
  const overdue = setTimeout(() => remote.destroy(new Error('no connection in time')), CONNECT_TIMEOUT_MS);
  const onFailure = (error: Error): void => refuseConnection(socket, { status: 502, why: `${target.host} cannot be reached (${error.message})` });
  remote.once('error', onFailure);
  remote.once('close', () => clearTimeout(overdue));
  socket.once('close', () => remote.connecting && remote.destroy());
  remote.once('connect', () => {
    clearTimeout(overdue);
    remote.off('error', onFailure);
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    joinStreams(socket, remote, tally);
  });
}

/** Only for hosts with headers to add: the worker ends the guest's encryption here, and encrypts anew towards the host, whose certificate it checks. */
async function intercept({ authority, log }: EgressParts, target: Target, socket: Duplex, enter: (opened: Duplex, where: Inner) => void): Promise<void> {
  try {
    const secureContext = await authority.contextFor(target.host);
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const first = await firstByte(socket);
    if (first !== TLS_HANDSHAKE) return enter(socket, { target, secure: false });
    const opened = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] });
    opened.on('error', () => socket.destroy());
    return enter(opened, { target, secure: true });
  } catch (error) {
    log.warn({ err: error, host: target.host }, 'a connection could not be opened on its way out');
    socket.destroy();
  }
  return undefined;
}

/** Looks at what comes first and leaves it there. */
function firstByte(socket: Duplex): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error('the guest hung up'));
    socket.once('close', gone);
    socket.once('readable', () => {
      socket.off('close', gone);
      const chunk = socket.read() as Buffer | null;
      if (chunk !== null) socket.unshift(chunk);
      resolve(chunk?.[0]);
    });
  });
}
