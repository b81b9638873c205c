import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { pipeline } from 'node:stream';
import type { Tally } from './decisions.ts';
import { count } from './join-streams.ts';
import { refuse } from './refuse.ts';
import type { Target } from './rules.ts';

export interface Destination {
  target: Target;
  secure: boolean;
  /** Checked; only these are connected to. */
  addresses: string[];
  /** Set on the request in place of the guest's own, by lower-case names. */
  headers: Record<string, string>;
  /** Certificates that are trusted beside the usual ones. */
  trust: Pick<SecureContextOptions, 'ca'>;
}

export const CONNECT_TIMEOUT_MS = 15_000;
/** They concern one connection, not the request; the framing is made anew for ours. */
const OF_CONNECTION = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'upgrade',
  'expect',
]);

/** Sends a guest's request on and its answer back. Redirects are the guest's to follow: each is a request of its own, judged like any other. */
export function forward(request: IncomingMessage, response: ServerResponse, path: string, to: Destination, tally: Tally): void {
  const { target, secure, addresses, headers } = to;
  const options: RequestOptions = {
    host: target.host,
    port: target.port,
    method: request.method ?? 'GET',
    path,
    headers: { ...sentOn(request.headersDistinct), host: authorityOf(target, secure), ...headers },
    setHost: false,
    agent: false,
    lookup: pinned(addresses),
  };
  const outgoing = secure ? httpsRequest({ ...options, ...(isIP(target.host) === 0 && { servername: target.host }), ...to.trust }) : httpRequest(options);
  const overdue = setTimeout(() => outgoing.destroy(new Error('no connection in time')), CONNECT_TIMEOUT_MS);
  outgoing.once('socket', (socket) => socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(overdue)));
  outgoing.once('close', () => clearTimeout(overdue));
  outgoing.once('error', (error) => refuse(response, { status: 502, why: `${target.host} cannot be reached or broke off (${error.message})` }));
  outgoing.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', sentOn(answer.headersDistinct));
    count(answer, tally.received);
    // A broken answer breaks the guest's connection: it must not take a part for the whole.
    pipeline(answer, response, (error) => error && response.destroy());
  });
  // A host may only answer, never turn the connection into something else.
  outgoing.once('upgrade', (_answer, socket) => socket.destroy());
  response.once('close', () => outgoing.destroy());
  count(request, tally.sent);
  request.pipe(outgoing);
  request.once('error', () => outgoing.destroy());
}

/** A lookup that knows one answer. */
export function pinned(addresses: string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all }, answer) => (all === true ? answer(null, found) : answer(null, found[0]?.address ?? '', found[0]?.family ?? 0));
}

export function authorityOf({ host, port }: Target, secure: boolean): string {
  const written = isIP(host) === 6 ? `[${host}]` : host;
  return port === (secure ? 443 : 80) ? written : `${written}:${port}`;
}

function sentOn(given: NodeJS.Dict<string[]> | IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = [given['connection'] ?? []].flat().flatMap((value) => value.toLowerCase().split(/\s*,\s*/));
  const left = Object.entries(given).filter(([name]) => !OF_CONNECTION.has(name) && !named.includes(name));
  // One value is given as text: Node judges the framing by it.
  return Object.fromEntries(left.map(([name, values]) => [name, Array.isArray(values) && values.length === 1 ? values[0] : values]));
}
