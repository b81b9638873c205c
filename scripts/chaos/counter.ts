import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands for a service outside of Longshore in which calls take effect: it is told the id of each. */
export interface Counter extends AsyncDisposable {
  url: string;
  /** How often each call was told. */
  told: ReadonlyMap<string, number>;
}

/** Its answer takes a moment, so that a fault comes between the effect and the news of it. */
const ANSWER_MS = 150;

export async function openCounter(): Promise<Counter> {
  const told = new Map<string, number>();
  const server = createServer((request, answer) => {
    const callId = decodeURIComponent(request.url?.slice(1) ?? '');
    told.set(callId, (told.get(callId) ?? 0) + 1);
    setTimeout(() => answer.end('counted'), ANSWER_MS);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    told,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
