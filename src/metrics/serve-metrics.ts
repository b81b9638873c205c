import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { failure } from '../contracts/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Store } from '../store/store.ts';
import type { IsolatesHealth } from '../plugins/isolates/isolate-health.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

const MOST_CONNECTIONS = 100;
/** Time limit for receiving a whole request. */
const REQUEST_MS = 10_000;

interface ServeParts {
  /** `host:port`; with port 0, any free port. */
  address: string;
  metrics: WorkerMetrics;
  store: Pick<Store, 'ping'>;
  /** The state of the plugins; absent when none runs in an isolated process. */
  plugins?: (() => IsolatesHealth) | undefined;
  log: Logger;
}

/**
 * Serves `/metrics` for Prometheus, `/healthz`, which is 200 while Postgres answers, and `/health`, with more details as JSON, until it is disposed of.
 * @throws CONFIG_INVALID when it cannot listen at the address
 */
export async function serveMetrics({ address, metrics, store, plugins, log }: ServeParts): Promise<AsyncDisposable & { url: string }> {
  const { hostname, port } = new URL(`http://${address}`);
  const routes: Record<string, (response: ServerResponse) => Promise<void>> = {
    async '/metrics'(response) {
      const text = await metrics.render();
      response.writeHead(200, { 'content-type': metrics.contentType }).end(text);
    },
    async '/healthz'(response) {
      const healthy = await store.ping();
      response.writeHead(healthy ? 200 : 503, { 'content-type': 'text/plain' }).end(healthy ? 'ok\n' : 'Postgres does not answer\n');
    },
    async '/health'(response) {
      const postgres = (await store.ping().catch(() => false)) ? 'ok' : 'away';
      const report = { postgres, ...(plugins && { plugins: plugins() }) };
      response.writeHead(postgres === 'ok' ? 200 : 503, { 'content-type': 'application/json' }).end(`${JSON.stringify(report)}\n`);
    },
  };
  const server = createServer({ headersTimeout: REQUEST_MS, requestTimeout: REQUEST_MS }, (request, response) => {
    const route = isRead(request) ? routes[pathOf(request)] : undefined;
    const answer = route?.(response) ?? refuse(response);
    answer.catch((error: unknown) => {
      log.warn({ err: error }, 'metrics could not be collected');
      response.writeHead(503, { 'content-type': 'text/plain' }).end('Postgres does not answer\n');
    });
  });
  keepFew(server);
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error) =>
      reject(failure('CONFIG_INVALID', { name: 'LONGSHORE_METRICS_ADDRESS', problem: error.message, fix: 'Choose a free port of this machine' }, error));
    server.once('error', fail);
    server.listen({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) }, () => resolve());
  });
  const bound = server.address();
  const url = `http://${hostname}:${typeof bound === 'object' && bound ? bound.port : port}`;
  log.info({ url }, 'metrics are served');
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Probes ask with HEAD; Node.js leaves the body out then. */
function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Prometheus adds the parameters of its job to the address. */
function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}

/** Idle connections could use up the worker's file descriptors and lock out Prometheus: when there are too many, the oldest one is closed. */
function keepFew(server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size > MOST_CONNECTIONS) open.values().next().value?.destroy();
  });
}

async function refuse(response: ServerResponse): Promise<void> {
  response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found. There are /metrics, /healthz and /health\n');
}
