import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands for a service outside of Longshore in which calls take effect: it gets a request with the id of each. */
export interface Counter extends AsyncDisposable {
  url: string;
  /** Number of requests by call id. */
  requests: ReadonlyMap<string, number>;
}

/** Its answer takes a moment, so that a fault comes between the effect and the news of it. */
const ANSWER_MS = 150;

export async function openCounter(): Promise<Counter> {
  const requests = new Map<string, number>();
  const server = createServer((request, answer) => {
    const callId = decodeURIComponent(request.url?.slice(1) ?? '');
    requests.set(callId, (requests.get(callId) ?? 0) + 1);
    setTimeout(() => answer.end('counted'), ANSWER_MS);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
