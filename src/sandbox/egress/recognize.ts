import { isIP } from 'node:net';
import type { ByteReader } from './http/byte-reader.ts';
import { MAX_HEAD_BYTES } from './http/message-head.ts';
import { HANDSHAKE, peekClientHello } from './tls/client-hello.ts';

/** The protocol that a guest uses in a tunnel. `tls`: whether it understands a TLS alert. */
export type Recognized = { kind: 'tls' } | { kind: 'http' } | { kind: 'refused'; tls: boolean; why: string };

const NEITHER: Recognized = { kind: 'refused', tls: false, why: 'this is neither TLS nor HTTP' };

/** Looks at the first bytes and leaves them in the reader. TLS must name the host of the tunnel; HTTP requests are judged when they are read. */
export async function recognize(reader: ByteReader, host: string): Promise<Recognized> {
  if (!(await reader.atLeast(1))) return NEITHER;
  if (reader.held[0] === HANDSHAKE) return recognizeTls(reader, host);
  for (let seen = 0; ;) {
    const end = reader.held.indexOf(10, seen);
    const line = reader.held.toString('latin1', 0, Math.min(end < 0 ? reader.held.length : end, 64));
    if (!/^[A-Za-z]/.test(line)) return NEITHER;
    if (end >= 0) return / HTTP\/\d(\.\d)?\r?$/.test(reader.held.toString('latin1', Math.max(0, end - 16), end)) ? { kind: 'http' } : NEITHER;
    seen = reader.held.length;
    if (seen > MAX_HEAD_BYTES || !(await reader.more())) return NEITHER;
  }
}

async function recognizeTls(reader: ByteReader, host: string): Promise<Recognized> {
  const hello = await peekClientHello(reader);
  if ('problem' in hello) return { kind: 'refused', tls: true, why: `${hello.problem}, so the host name cannot be checked` };
  const { serverName } = hello;
  if (serverName?.toLowerCase() === host) return { kind: 'tls' };
  // Clients send no name when they connect to an address.
  if (serverName === undefined && isIP(host) !== 0) return { kind: 'tls' };
  const asked = serverName === undefined ? 'no name (SNI)' : `the name ${JSON.stringify(serverName)}`;
  return { kind: 'refused', tls: true, why: `the connection is to ${host}, and its TLS asks for ${asked}` };
}
