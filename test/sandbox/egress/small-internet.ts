import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectSecurely, createSecureContext, type TLSSocket } from 'node:tls';
import type { EgressRule } from '../../../src/contracts/agent.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createAddressPolicy } from '../../../src/network/address-policy.ts';
import type { Patience } from '../../../src/sandbox/egress/admit.ts';
import { certifyHost, createAuthority } from '../../../src/certificates/certificates.ts';
import { createEgress } from '../../../src/sandbox/egress/create-egress.ts';
import type { EgressSummary } from '../../../src/sandbox/egress/decisions.ts';

export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  body: string;
}

/** Origins on this machine's loopback, which all names lead to. */
export interface SmallInternet extends AsyncDisposable {
  http: number;
  https: number;
  /** Answers what `script` says, once something was received. */
  raw: number;
  script: { answer: string };
  /** What the HTTP origins took for requests. */
  seen: Seen[];
  /** What the raw origin received. */
  received: () => string;
  proxy(rules: (string | EgressRule)[], patience?: Partial<Patience>): Promise<Proxy>;
}

export interface Proxy {
  port: number;
  /** PEM that a guest trusts. */
  ca: string;
  /** Serves a connection of a guest that is no socket. */
  accept(connection: Duplex): void;
  /** Sends bytes, half-closes unless told otherwise, and gives everything that comes back. */
  speak(bytes: string | Buffer, options?: { open?: boolean }): Promise<string>;
  /** Opens a tunnel. */
  tunnel(authority: string): Promise<Socket>;
  /** TLS with what is at the end of a tunnel. */
  secure(tunnel: Socket, servername: string, options?: object): Promise<TLSSocket>;
  /** What was decided so far. */
  refusals(): Promise<string[]>;
}

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });

export async function startSmallInternet(names: string[]): Promise<SmallInternet> {
  const authority = createAuthority('Longshore egress', new Date());
  const seen: Seen[] = [];
  const script = { answer: '' };
  let received = Buffer.alloc(0);
  const listener = (request: IncomingMessage, response: { end: (text: string) => void }): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers, rawHeaders } = request;
      seen.push({ method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString('latin1') });
      response.end(`seen ${url}`);
    });
  };
  const contexts = new Map(names.map((name) => [name, certifyHost(name, authority, new Date())]));
  const standard = certifyHost('127.0.0.1', authority, new Date());
  const secureOptions = {
    key: standard.key,
    cert: standard.certificate,
    SNICallback: (name: string, done: (error: Error | null, context?: ReturnType<typeof createSecureContext>) => void) => {
      const held = contexts.get(name.toLowerCase());
      done(null, held && createSecureContext({ key: held.key, cert: held.certificate }));
    },
  };
  const plain = createHttpServer(listener);
  const secure = createHttpsServer(secureOptions, listener);
  const raw = createServer((socket) => {
    socket.on('error', () => undefined);
    received = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (script.answer !== '' && !socket.writableEnded) socket.end(script.answer, 'latin1');
    });
  });
  const proxies: Server[] = [];
  const closers: (() => Promise<void>)[] = [];
  const ports = [await listen(plain), await listen(secure), await listen(raw)] as const;
  return {
    http: ports[0],
    https: ports[1],
    raw: ports[2],
    script,
    seen,
    received: () => received.toString('latin1'),
    async proxy(rules, patience = {}) {
      const told: EgressSummary[] = [];
      const own = createAuthority('Longshore egress', new Date());
      const egress = createEgress({
        egress: rules,
        policy: createAddressPolicy({ allowAddresses: ['127.0.0.1'], resolve: async () => ['127.0.0.1'] }),
        authority: {
          certificate: async () => own.certificate,
          contextFor: async (host) => {
            const { key, certificate } = certifyHost(host, own, new Date());
            return createSecureContext({ key, cert: certificate });
          },
        },
        readEnvironment: (name) => ({ TOKEN: 'sesame', BROKEN: 'a\r\nX-Injected: yes' })[name],
        tell: async (summary) => void told.push(summary),
        log,
        trust: { ca: authority.certificate },
        patience,
      });
      const server = createServer({ allowHalfOpen: true }, (socket) => egress.accept(socket));
      proxies.push(server);
      closers.push(() => egress.close());
      const port = await listen(server);
      const proxy = { port, ca: own.certificate };
      return {
        ...proxy,
        accept: (connection) => egress.accept(connection),
        speak: (bytes, { open = false } = {}) => speak(port, bytes, open),
        tunnel: (to) => openTunnel(port, to),
        secure: (tunnel, servername, options = {}) => encrypt(tunnel, servername, { ca: own.certificate, ...options }),
        async refusals() {
          await egress.close();
          return told.flatMap(({ decisions }) => decisions.flatMap(({ why }) => why ?? []));
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const close of closers) await close();
      for (const server of [plain, secure, raw, ...proxies]) {
        (server as { closeAllConnections?: () => void }).closeAllConnections?.();
        server.close();
      }
    },
  };
}

async function openTunnel(port: number, authority: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  if (!String(answer).startsWith('HTTP/1.1 200 ')) throw new Error(String(answer));
  const end = answer.indexOf('\r\n\r\n') + 4;
  if (end < answer.length) socket.unshift(answer.subarray(end));
  return socket;
}

async function encrypt(socket: Socket, servername: string, options: object): Promise<TLSSocket> {
  const opened = connectSecurely({ socket, servername, ...options });
  await once(opened, 'secureConnect');
  return opened;
}

async function speak(port: number, bytes: string | Buffer, open: boolean): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const all = everything(socket);
  socket.write(Buffer.from(bytes as string, 'latin1'));
  if (!open) socket.end();
  return all;
}

/** Everything that comes until the end, or until the connection breaks. */
export function everything(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  return new Promise((resolve) => {
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(text));
    socket.resume();
  });
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
