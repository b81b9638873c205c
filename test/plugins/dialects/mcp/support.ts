import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { McpProgram, McpRemote } from '../../../../src/contracts/mcp/server.ts';
import type { Logger } from '../../../../src/platform/log.ts';
import type { Plugin, ToolContext } from '../../../../src/plugins/api/define-plugin.ts';
import { connectServer } from '../../../../src/plugins/dialects/mcp/connected-server.ts';
import type { McpOptions } from '../../../../src/plugins/dialects/mcp/open-servers.ts';
import type { SignInRows } from '../../../../src/store/sign-ins/sign-ins.ts';
import type { ListShelf } from '../../../../src/plugins/dialects/mcp/lists-of-conversations.ts';
import { builtProgram } from '../../../support/built-programs.ts';
import { createFixtureServer } from './fixture-server.ts';

const STDIO = new URL('stdio-server.ts', import.meta.url);
const RICH = new URL('rich-stdio-server.ts', import.meta.url);

/** The fixture as a program of this machine. */
export async function fixtureProgram(more: Partial<McpProgram> = {}): Promise<McpProgram> {
  return { command: process.execPath, args: [await builtProgram(STDIO)], env: {}, where: 'host', timeoutMs: 10_000, ...more };
}

/** The server that uses all of the protocol, as a program of this machine. */
export async function richProgram(): Promise<McpProgram> {
  return fixtureProgram({ args: [await builtProgram(RICH)] });
}

/** A program that speaks as the script says, in JavaScript; `reply(id, result)` and `send(message)` are there, `on(method, handler)` too. */
export function hostileProgram(script: string): McpProgram {
  const prelude = `
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    const reply = (id, result) => send({ id, result });
    const handlers = { 'server/discover': ({ id }) => send({ id, error: { code: -32601, message: 'unknown' } }),
      initialize: ({ id, params }) => reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } }),
      'tools/list': ({ id }) => reply(id, { tools: [{ name: 'go', inputSchema: { type: 'object' } }] }) };
    const on = (method, handler) => { handlers[method] = handler; };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => { const m = JSON.parse(line); handlers[m.method]?.(m); });
    process.stdin.on('end', () => process.exit());
  `;
  return { command: process.execPath, args: ['-e', prelude + script], env: {}, where: 'host', timeoutMs: 50_000 };
}

/** For servers whose tools no conversation has seen change. */
export const NO_LISTS: ListShelf = { entry: async () => undefined, set: async () => 'created' };

/** For servers at which nobody signs in. */
export const NO_SIGN_INS: McpOptions['signIns'] = { rows: {} as SignInRows, publicUrl: undefined, encrypts: false, allowAddresses: [] };

export interface Bench extends AsyncDisposable {
  plugin: () => Plugin;
  logged: string[];
  /** Resolves when the plugin has changed so that this holds. */
  until(condition: (plugin: Plugin) => boolean): Promise<void>;
}

export async function openBench(
  server: McpProgram | McpRemote,
  environment: Record<string, string> = {},
  { isEnabled = true }: { isEnabled?: boolean } = {},
): Promise<Bench> {
  const logged: string[] = [];
  const waiting = new Set<() => void>();
  const look = () => waiting.forEach((check) => check());
  const write = ({ said }: { said?: string }, text: string) => {
    logged.push(said === undefined ? text : `${text} ${said}`);
    look();
  };
  const log = { info: write, warn: write, error: write } as unknown as Logger;
  const connected = connectServer({ name: 'fix', server, readEnvironment: (name) => environment[name], log, onChange: look, isEnabled, maxPauseMs: 300 });
  await connected.started;
  return {
    plugin: connected.plugin,
    logged,
    until: (condition) =>
      new Promise((resolve) => {
        const check = () => {
          if (!condition(connected.plugin())) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    [Symbol.asyncDispose]: () => connected[Symbol.asyncDispose](),
  };
}

export async function call(bench: Pick<Bench, 'plugin'>, tool: string, input: object = {}, context: Partial<ToolContext> = {}): Promise<unknown> {
  const given = { signal: new AbortController().signal, heartbeat: () => undefined, ...context } as ToolContext;
  return bench
    .plugin()
    .tools.find(({ id }) => id === tool)!
    .execute(input as never, given);
}

export interface ServedFixture extends AsyncDisposable {
  url: string;
  /** Those of the last request. */
  headers: Record<string, unknown>;
  /** Forgets all sessions; requests of theirs are answered like that. */
  restart(answer?: { status: number; text: string }): void;
  /** Ends all connections. */
  cut(): void;
  /** Sessions that were ended by their clients. */
  closed(): number;
}

const createFixture = () => createFixtureServer({ pid: process.pid, secret: 'remote' });

/** Answers a request in place of the server, if it returns true. */
export type Guard = (request: IncomingMessage, response: ServerResponse, body: string) => boolean;

/** The fixture, or another server, behind HTTP. */
export async function serveFixture(port = 0, create: () => Pick<McpServer, 'connect'> = createFixture, guard: Guard = () => false): Promise<ServedFixture> {
  let sessions = new Map<string, StreamableHTTPServerTransport>();
  let closed = 0;
  let gone = { status: 404, text: '' };
  const seen: Record<string, unknown> = {};
  // A busy machine would meet the end of a connection that it has just chosen for a request.
  const http = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    void (async () => {
      Object.assign(seen, request.headers);
      const body = request.method === 'POST' ? await text(request) : '';
      if (guard(request, response, body)) return;
      const id = request.headers['mcp-session-id'];
      let transport = typeof id === 'string' ? sessions.get(id) : undefined;
      if (id !== undefined && !transport) {
        response.writeHead(gone.status).end(gone.text);
        return;
      }
      if (!transport) {
        transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: () => crypto.randomUUID(),
          onsessioninitialized: (session) => void sessions.set(session, transport!),
          onsessionclosed: () => void (closed += 1),
        });
        await create().connect(transport);
      }
      await transport.handleRequest(request, response, body === '' ? undefined : (JSON.parse(body) as unknown));
    })();
  });
  await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    headers: seen,
    restart(answer = gone) {
      gone = answer;
      sessions = new Map();
    },
    cut: () => http.closeAllConnections(),
    closed: () => closed,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** A server behind HTTP whose greeting and list are in order, and whose answers to calls are what is given, as they are. */
export async function serveAnswers(type: string, answer: (id: number) => string): Promise<AsyncDisposable & { url: string }> {
  const results: Record<string, (params: { protocolVersion?: string }) => object> = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } }),
    'tools/list': () => ({ tools: [{ name: 'go', inputSchema: { type: 'object' } }] }),
  };
  const http = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(body) as { id?: number; method: string; params: object };
      if (id === undefined) return response.writeHead(202).end();
      const result = results[method]?.(params);
      const message = result ? JSON.stringify({ jsonrpc: '2.0', id, result }) : answer(id);
      return response.writeHead(200, { 'content-type': type }).end(type === 'text/event-stream' ? `: "\ndata: ${message}\n\n` : message);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
