import { request } from 'node:http';

export interface Figures {
  requests: number;
  medianMs: number;
  slowestMs: number;
}

interface Asked {
  url: string;
  authorization: string;
  conversationId: string;
}

/** Longer than any request should wait: it then counts as not answered. */
const PATIENCE_MS = 30_000;

/** Lists conversations and sends messages and waits for their answers, each over a connection of its own, while the work goes on. @throws when one of them is not answered with 2xx */
export async function honestWhile(asked: Asked, work: () => Promise<unknown>): Promise<Figures> {
  const over = new AbortController();
  const working = work().finally(() => over.abort());
  working.catch(() => undefined);
  const times: number[] = [];
  do {
    const began = performance.now();
    await ask(asked, 'GET', '/v1/conversations');
    await ask(asked, 'POST', `/v1/conversations/${asked.conversationId}/messages?wait=30`, { message: 'Ahoy.' });
    times.push((performance.now() - began) / 2);
  } while (!over.signal.aborted);
  await working;
  const sorted = times.toSorted((a, b) => a - b);
  return { requests: 2 * times.length, medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0, slowestMs: sorted.at(-1) ?? 0 };
}

function ask({ url, authorization }: Asked, method: string, path: string, body?: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
    const asking = request(new URL(path, url), { method, headers, agent: false, timeout: PATIENCE_MS }, (answer) => {
      answer
        .resume()
        .once('end', () => (answer.statusCode?.toString().startsWith('2') ? resolve() : reject(new Error(`${method} ${path}: ${answer.statusCode}`))));
    });
    asking.once('timeout', () => asking.destroy(new Error(`${method} ${path}: no answer in ${PATIENCE_MS} ms`)));
    asking.once('error', reject);
    asking.end(body && JSON.stringify(body));
  });
}
