import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { protocolsBesideKey } from '../auth/key-in-protocol.ts';
import { cookieOfGuest, cookiesForGuest } from './guest-cookies.ts';
import type { Place } from './place.ts';

/** Of one connection, and how a body is framed there. */
const OF_THE_CONNECTION = ['connection', 'content-length', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'];
/** Who calls, and by which way: for the service and the proxies before it. */
const NOT_FOR_GUESTS = new Set([
  ...OF_THE_CONNECTION,
  'host',
  'expect',
  'authorization',
  // May carry a key; see `protocolsBesideKey`.
  'sec-websocket-protocol',
  'cookie',
  'cookie2',
  'origin',
  'referer',
  'forwarded',
  'via',
  'remote-user',
  'true-client-ip',
  'x-real-ip',
  'x-request-id',
  'x-correlation-id',
  'traceparent',
  'tracestate',
  'baggage',
]);
const NOT_FOR_GUESTS_FROM = [
  'proxy-',
  'x-forwarded-',
  'x-original-',
  'x-rewrite-',
  'x-auth-',
  'x-client-',
  'x-remote-',
  'x-ssl-',
  'x-envoy-',
  'x-amz',
  'x-goog-',
  'x-ms-',
  'cf-',
  'fastly-',
];
/** What would have an effect beyond the answer: on the browser's other pages of this host, or on a proxy before the service. */
const NOT_FROM_GUESTS = new Set([
  ...OF_THE_CONNECTION,
  'set-cookie',
  'set-cookie2',
  'location',
  'www-authenticate',
  'clear-site-data',
  'strict-transport-security',
  'expect-ct',
  'nel',
  'report-to',
  'reporting-endpoints',
  'alt-svc',
  'service-worker-allowed',
  'origin-agent-cluster',
  'cache-control',
  'expires',
  'pragma',
  'age',
  'via',
  'x-sendfile',
]);
const NOT_FROM_GUESTS_FROM = ['proxy-', 'public-key-pins', 'access-control-', 'x-accel-', 'x-lighttpd-', 'x-reproxy-', 'surrogate-', 'cdn-', 'x-longshore-'];
const NO_CONTENT = 204;
/** The guest's own address, as its server knows it. */
const OWN_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The headers of a request as the guest gets them. */
export function headersForGuest({ headers, rawHeaders }: IncomingMessage, port: number, place: Place): OutgoingHttpHeaders {
  const { cookie, origin } = headers;
  const own = cookiesForGuest(cookie, place);
  const protocols = protocolsBesideKey(headers);
  return {
    ...collected(rawHeaders, isForGuest, named(headers.connection)),
    host: `localhost:${port}`,
    ...(origin !== undefined && { origin: place.origins.includes(origin) ? `http://localhost:${port}` : origin }),
    ...(own !== undefined && { cookie: own }),
    ...(protocols !== undefined && { 'sec-websocket-protocol': protocols }),
    ...framing(headers),
  };
}

/** The headers of an answer of the guest as the caller gets them. */
export function headersOfGuest({ headers, rawHeaders, statusCode }: IncomingMessage, port: number, place: Place): OutgoingHttpHeaders {
  const { location, 'set-cookie': cookies = [], 'content-security-policy': policy } = headers;
  const kept = cookies.flatMap((cookie) => cookieOfGuest(cookie, place) ?? []);
  const ours = place.headers['content-security-policy'];
  const policies = [ours, typeof policy === 'string' ? policy : undefined].filter((one) => one !== undefined);
  return {
    ...collected(rawHeaders, isFromGuest, named(headers.connection)),
    // With a status that has no content, it could be taken for the length of what follows: the next answer.
    ...(headers['content-length'] !== undefined && statusCode !== NO_CONTENT && { 'content-length': headers['content-length'] }),
    'cache-control': 'private, no-cache',
    ...place.headers,
    // Browsers obey all of them together.
    ...(policies.length > 0 && { 'content-security-policy': policies.join(', ') }),
    ...(location !== undefined && { location: locationOf(location, port, place) }),
    ...(kept.length > 0 && { 'set-cookie': kept }),
  };
}

/** Of a request; without either, it has no body. */
function framing(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  if (headers['transfer-encoding'] !== undefined) return { 'transfer-encoding': 'chunked' };
  return headers['content-length'] === undefined ? {} : { 'content-length': headers['content-length'] };
}

/** Where a redirection leads, as the caller has to ask for it. */
function locationOf(location: string, port: number, { prefix }: Place): string {
  if (location.startsWith('/') && !location.startsWith('//')) return prefix + location;
  if (!URL.canParse(location)) return location;
  const { hostname, port: theirs, pathname, search, hash, protocol } = new URL(location);
  const isOwn = protocol === 'http:' && OWN_HOSTS.has(hostname) && Number(theirs === '' ? 80 : theirs) === port;
  return isOwn ? prefix + pathname + search + hash : location;
}

function isForGuest(name: string): boolean {
  return !NOT_FOR_GUESTS.has(name) && !NOT_FOR_GUESTS_FROM.some((start) => name.startsWith(start));
}

function isFromGuest(name: string): boolean {
  return !NOT_FROM_GUESTS.has(name) && !NOT_FROM_GUESTS_FROM.some((start) => name.startsWith(start));
}

/** The names that the header `connection` says are of the connection. */
function named(connection: string | undefined): Set<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
}

/** All values of each header that may pass, in their order. */
function collected(rawHeaders: string[], mayPass: (name: string) => boolean, except: Set<string>): Record<string, string | string[]> {
  const found = new Map<string, string[]>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    if (mayPass(name) && !except.has(name)) found.set(name, [...(found.get(name) ?? []), rawHeaders[at + 1] ?? '']);
  }
  return Object.fromEntries([...found].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]));
}
