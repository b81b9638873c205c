import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectSecurely, type SecureContextOptions } from 'node:tls';
import type { EgressTarget } from './rules.ts';

export interface Destination {
  target: EgressTarget;
  secure: boolean;
  /** The addresses that were checked. Connections go only to these. */
  addresses: string[];
  /** Certificate authorities that are trusted instead of the default ones. */
  trust: Pick<SecureContextOptions, 'ca'>;
}

const CONNECT_TIMEOUT_MS = 15_000;

/** Connects to a checked address. With `secure`, the host's certificate is always verified, even if the worker's environment disables that. */
export function connectRemote({ target: { host, port }, secure, addresses, trust }: Destination, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const base = { host, port, lookup: pinned(addresses), allowHalfOpen: true };
    const named = isIP(host) === 0 ? { servername: host } : {};
    const remote = secure ? connectSecurely({ ...base, ...trust, ...named, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] }) : connect(base);
    const overdue = setTimeout(() => remote.destroy(new Error('no connection in time')), CONNECT_TIMEOUT_MS);
    const abort = (): void => void remote.destroy(new Error('the connection to it was cancelled'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const settle = (): void => {
      clearTimeout(overdue);
      signal.removeEventListener('abort', abort);
    };
    remote.once('error', (error) => {
      settle();
      reject(error);
    });
    remote.once(secure ? 'secureConnect' : 'connect', () => {
      settle();
      // A later error also ends the stream, which its reader notices.
      remote.on('error', () => undefined);
      if (signal.aborted) remote.destroy();
      resolve(remote);
    });
  });
}

/** A lookup that always returns the given addresses. */
function pinned(addresses: string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all }, answer) => (all === true ? answer(null, found) : answer(null, found[0]?.address ?? '', found[0]?.family ?? 0));
}

export function authorityOf({ host, port }: EgressTarget, secure: boolean): string {
  const written = isIP(host) === 6 ? `[${host}]` : host;
  return port === (secure ? 443 : 80) ? written : `${written}:${port}`;
}
