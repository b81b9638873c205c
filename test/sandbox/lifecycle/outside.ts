import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { certifyHost, createAuthority } from '../../../src/certificates/certificates.ts';

/** Hosts of a small internet on this machine's loopback. */
export interface Outside extends AsyncDisposable {
  ports: { http: number; https: number; /** Without a listener. */ other: number };
  /** The certificate that vouches for the hosts. */
  ca: string;
  /** What was asked, newest last. */
  requests: { host: string; method: string; path: string; authorization: string | undefined; body: number }[];
  resolve: (host: string) => Promise<string[]>;
  /** Bytes that were handed to the connection of the newest request for a flood. */
  flooded: () => number;
}

const NAMES = ['open.test', 'keyed.test', 'unkeyed.test', 'a.wild.test', 'elsewhere.test', 'closed.test'];
export const FLOOD_BYTES = 128 * 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 'longshore');

export async function startOutside(): Promise<Outside> {
  const now = new Date();
  const authority = createAuthority('Longshore egress', now);
  const requests: Outside['requests'] = [];
  let flooding: Socket | undefined;
  const answer: RequestListener = (request, response) => {
    const host = hostOf(request);
    const seen = { host, method: request.method ?? '', path: request.url ?? '', authorization: request.headers.authorization, body: 0 };
    requests.push(seen);
    if (seen.path === '/flood') flooding = request.socket;
    request.on('data', (chunk: Buffer) => (seen.body += chunk.length));
    request.on('end', () => answerTo(request, response, `hello from ${host}`));
  };
  const { key, certificate } = certifyHost('keyed.test', authority, now);
  const plain = createServer(answer);
  const secure = createSecureServer({ key, cert: certificate }, answer);
  const unused = createServer();
  const [http, https, other] = [await listen(plain), await listen(secure), await listen(unused)];
  await close(unused);
  let asked = 0;
  return {
    ports: { http, https, other },
    ca: authority.certificate,
    requests,
    flooded: () => flooding?.bytesWritten ?? 0,
    resolve: async (host) => {
      if (host === 'inside.test') return ['169.254.169.254'];
      if (host === 'mixed.test') return ['127.0.0.1', '10.0.0.1'];
      // Once harmless, then not.
      if (host === 'rebound.test') return [(asked += 1) === 1 ? '127.0.0.1' : '127.0.0.2'];
      if (NAMES.includes(host)) return ['127.0.0.1'];
      throw new Error('no such name');
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([close(plain), close(secure)]);
    },
  };
}

function answerTo(request: IncomingMessage, response: ServerResponse, greeting: string): void {
  const [path, value = ''] = (request.url ?? '').split('?to=');
  switch (path) {
    case '/redirect':
      response.writeHead(302, { location: decodeURIComponent(value) }).end();
      break;
    case '/flood':
      response.writeHead(200, { 'content-length': FLOOD_BYTES });
      flood(response, FLOOD_BYTES);
      break;
    case '/npm/thing':
      response.end(JSON.stringify({ name: 'thing', 'dist-tags': { latest: '1.2.3' }, versions: { '1.2.3': { name: 'thing', version: '1.2.3', dist: {} } } }));
      break;
    case '/stall':
      // Announces more than it ever says.
      response.writeHead(200, { 'content-length': 1000 });
      response.write('begun');
      break;
    default:
      response.end(greeting);
  }
}

function flood(response: ServerResponse, left: number): void {
  let rest = left;
  while (rest > 0) {
    rest -= CHUNK.length;
    if (!response.write(CHUNK)) {
      response.once('drain', () => flood(response, rest));
      return;
    }
  }
  response.end();
}

function hostOf(request: IncomingMessage): string {
  return (request.headers.host ?? '').replace(/:\d+$/, '');
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function close(server: Server): Promise<void> {
  (server as { closeAllConnections?: () => void }).closeAllConnections?.();
  await new Promise((resolve) => server.close(resolve));
}
