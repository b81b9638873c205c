import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { resolveReferences } from '../references.ts';
import { admit, type EgressOptions, type EgressParts } from './admit.ts';
import { createDecisions } from './decisions.ts';
import { authorityOf, forward } from './forward.ts';
import { openTunnel, type Inner } from './open-tunnel.ts';
import { refuse, refuseConnection } from './refuse.ts';
import { parseTarget } from './rules.ts';

/** The way out of one sandbox, as far as its list goes. */
export interface Egress {
  /** Takes a connection of the guest, on which it speaks as to an HTTP proxy. */
  accept(connection: Duplex): void;
  /** Breaks all connections. */
  close(): Promise<void>;
}

const MAX_HEADER_BYTES = 65_536;

/** A proxy that lets through what the list names, and fails closed. */
export function createEgress(options: EgressOptions): Egress {
  const parts: EgressParts = { ...options, decisions: createDecisions(options.tell) };
  const open = new Set<Duplex>();
  const inners = new WeakMap<Duplex, Inner>();
  const inner = server((request, response) => answerInner(parts, inners.get(request.socket), request, response));
  const outer = server((request, response) => answerPlain(parts, request, response));
  outer.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const enter = (opened: Duplex, where: Inner): void => {
      inners.set(opened, where);
      inner.emit('connection', opened);
    };
    void openTunnel(parts, request.url ?? '', socket, head, enter);
  });
  return {
    accept(connection) {
      open.add(connection);
      connection.once('close', () => open.delete(connection));
      outer.emit('connection', connection);
    },
    async close() {
      for (const connection of open) connection.destroy();
      await parts.decisions.close();
    },
  };
}

/** It never listens: connections are handed to it. An answer that fails for a reason of ours is a refusal too. */
function server(answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>): Server {
  const made = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, keepAliveTimeout: 0 }, (request, response) => {
    answer(request, response).catch((error: Error) => refuse(response, { status: 502, why: `the worker failed (${error.message})` }));
  });
  made.on('clientError', (_error, socket: Duplex) => {
    if (socket.writable) refuseConnection(socket, { status: 400, why: 'this is not HTTP' });
    else socket.destroy();
  });
  return made;
}

async function answerPlain(parts: EgressParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, authority = '', path = ''] = /^http:\/\/([^/?#]*)([/?].*)?$/i.exec(request.url ?? '') ?? [];
  if (authority === '') return refuse(response, { status: 400, why: 'this is a proxy: ask it for http://host/path, or to CONNECT' });
  const target = parseTarget(authority, 80);
  const url = path.startsWith('/') ? path : `/${path}`;
  await answer(parts, { target, written: authority, secure: false, path: url }, request, response);
}

async function answerInner(parts: EgressParts, where: Inner | undefined, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!where) throw new Error('a connection from nowhere');
  const { target, secure } = where;
  const asked = request.headers.host?.toLowerCase() ?? '';
  const names = [authorityOf(target, secure), `${target.host}:${target.port}`];
  if (!names.includes(asked)) {
    const why = `the connection is to ${names[0]}, the request to another host`;
    parts.decisions.note(asked, why);
    return refuse(response, { status: 421, why });
  }
  await answer(parts, { target, written: asked, secure, path: request.url ?? '/' }, request, response);
}

async function answer(
  parts: EgressParts,
  { target: asked, written, secure, path }: { target: ReturnType<typeof parseTarget>; written: string; secure: boolean; path: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const admitted = await admit(parts, asked, written);
  if ('refusal' in admitted) return refuse(response, admitted.refusal);
  const { target, rule, addresses, tally } = admitted;
  const filled = resolveReferences(rule.headers ?? {}, parts.readEnvironment);
  if ('missing' in filled) return refuse(response, { status: 502, why: `the credential for ${target.host} is not set (${filled.missing})` });
  // It would answer with the headers that were added.
  if (request.method === 'TRACE') return refuse(response, { status: 405, why: 'TRACE is not passed on' });
  return forward(request, response, path, { target, secure, addresses, headers: lowerCased(filled.values), trust: parts.trust ?? {} }, tally);
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
