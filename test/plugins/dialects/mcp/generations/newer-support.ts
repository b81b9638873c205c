import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { build } from 'esbuild';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { McpProgram } from '../../../../../src/contracts/mcp/server.ts';
import { builtProgram } from '../../../../support/built-programs.ts';
import { createNewerServer, freshShared, type Shared } from './newer-server.ts';
import { fixtureProgram } from '../support.ts';

const STDIO = new URL('newer-stdio-server.ts', import.meta.url);

export async function newerProgram(more: Partial<McpProgram> = {}): Promise<McpProgram> {
  return fixtureProgram({ args: [await builtProgram(STDIO)], ...more });
}

/** The same as one file in a new directory, for sandboxes. */
export async function newerFile(): Promise<{ directory: string; file: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'newer-'));
  const file = 'newer-server.mjs';
  await build({ entryPoints: [fileURLToPath(STDIO)], outfile: join(directory, file), bundle: true, platform: 'node', format: 'esm', logLevel: 'error' });
  return { directory, file };
}

export interface ServedNewer extends AsyncDisposable {
  url: string;
  shared: Shared;
  notify: McpHttpHandler['notify'];
  /** Method and headers of each request. */
  requests: { method: string; headers: IncomingMessage['headers'] }[];
  /** Ends all connections. */
  cut(): void;
}

/** Answers a request in place of the server, if it returns true. */
type Guard = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The server of the revision 2026-07-28 behind HTTP; `legacy` as in the library. */
export async function serveNewer({ guard = () => false, ...options }: { legacy?: 'reject'; guard?: Guard } = {}): Promise<ServedNewer> {
  const shared = freshShared();
  const handler = createMcpHandler((context) => createNewerServer(shared, context), options);
  const answer = toNodeHandler(handler);
  const requests: ServedNewer['requests'] = [];
  const http: Server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    requests.push({ method: String(request.headers['mcp-method'] ?? request.method), headers: request.headers });
    if (guard(request, response)) return;
    void answer(request as Parameters<typeof answer>[0], response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    shared,
    notify: handler.notify,
    requests,
    cut: () => http.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      await handler.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
