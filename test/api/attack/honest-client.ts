import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

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

/** Lists conversations and sends messages and waits for their answers, each over a connection of its own, while the work goes on. @throws when one of them is not answered with 2xx in time */
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

/** Asks again when the service says that it is too busy, as it tells its clients to; all of that counts as the time of one request. */
async function ask(asked: Asked, method: string, path: string, body?: object): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const { status, retryAfterMs } = await askOnce(asked, method, path, body);
    if (status >= 200 && status < 300) return;
    if (status !== 503 || performance.now() + retryAfterMs > until) throw new Error(`${method} ${path}: ${status}`);
    await sleep(retryAfterMs);
  }
}

function askOnce({ url, authorization }: Asked, method: string, path: string, body?: object): Promise<{ status: number; retryAfterMs: number }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
    const asking = request(new URL(path, url), { method, headers, agent: false, timeout: PATIENCE_MS }, (answer) => {
      const { statusCode = 0, headers: told } = answer;
      answer.resume().once('end', () => resolve({ status: statusCode, retryAfterMs: Number(told['retry-after'] ?? 1) * 1000 }));
    });
    asking.once('timeout', () => asking.destroy(new Error(`${method} ${path}: no answer in ${PATIENCE_MS} ms`)));
    asking.once('error', reject);
    asking.end(body && JSON.stringify(body));
  });
}
