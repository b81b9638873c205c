import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  status: { code?: number; message?: string };
}
type Values = { key: string; value: Record<string, unknown> }[];
interface Body {
  resourceSpans: {
    resource: { attributes: Values };
    scopeSpans: { spans: (Omit<ReceivedSpan, 'attributes' | 'links'> & { attributes: Values; links?: ReceivedSpan['links'] })[] }[];
  }[];
}

const MOST_BYTES = 10_000_000;
const OK = 200;

/** A collector on this machine that takes OTLP over HTTP as JSON, and keeps all of it. */
export async function startCollector() {
  const bodies: { path: string; text: string }[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.length > MOST_BYTES) request.destroy();
    });
    request.on('end', () => {
      bodies.push({ path: request.url ?? '', text });
      response.writeHead(OK, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const parsed = () => bodies.flatMap(({ text }) => (JSON.parse(text) as Body).resourceSpans);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths: () => [...new Set(bodies.map(({ path }) => path))],
    /** All that was sent. */
    text: () => bodies.map(({ text }) => text).join('\n'),
    resources: () => parsed().map(({ resource }) => valuesOf(resource.attributes)),
    spans: (): ReceivedSpan[] =>
      parsed().flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) => spans.map(({ attributes, links = [], ...span }) => ({ ...span, links, attributes: valuesOf(attributes) }))),
      ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function valuesOf(attributes: Values): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
