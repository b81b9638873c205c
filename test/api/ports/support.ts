import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Installation } from '../../e2e/support.ts';
import { serve } from '../serve.ts';

/** What the guest's server was told. */
export interface Told {
  method: string;
  path: string;
  headers: Record<string, string>;
  size: number;
  sha: string;
}

/** A service that has hosts for previews. */
export async function serveHosts(installation: Installation): Promise<{ url: string } & AsyncDisposable> {
  const server = await serve(installation, { LONGSHORE_PREVIEW_URL: 'http://*.previews.localhost' });
  return { url: server.url, [Symbol.asyncDispose]: () => server.kill() };
}

/** Asks as a browser that has found the address of this host. */
export async function hostAsk(url: string, { host, path, headers, method }: { host: string; path: string; headers: Record<string, string>; method: string }) {
  const sent = request(url, { path, method, headers: { ...headers, host } }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}
