import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { serveMetrics } from '../../src/metrics/serve-metrics.ts';
import type { WorkerMetrics } from '../../src/metrics/worker-metrics.ts';

test('metrics are served while there are many connections that say nothing, half of something or garbage', async () => {
  const metrics: Pick<WorkerMetrics, 'render' | 'contentType'> = { render: async () => 'a 1\n', contentType: 'text/plain' };
  const store = { ping: async () => true };
  await using served = await serveMetrics({ address: '127.0.0.1:0', metrics: metrics as WorkerMetrics, store, log: pino({ level: 'silent' }) });
  const port = Number(new URL(served.url).port);
  const said = ['', 'GET /metrics HTTP/1.1\r\nHost: a\r\n', '\0\0\x16\x03\x01', `GET /${'a'.repeat(100_000)}`];
  const sockets: Socket[] = [];
  try {
    for (let count = 0; count < 400; count += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(said[count % said.length] ?? '');
      sockets.push(socket.resume());
    }
    for (const path of ['metrics', 'healthz', 'health']) expect(await fetch(`${served.url}/${path}`)).toMatchObject({ status: 200 });
    expect(await fetch(`${served.url}/..%2f..%2fetc%2fpasswd`)).toMatchObject({ status: 404 });
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test('parameters of a scrape, and probes that want no body, are answered as the address without them', async () => {
  const metrics: Pick<WorkerMetrics, 'render' | 'contentType'> = { render: async () => 'a 1\n', contentType: 'text/plain' };
  let here = true;
  const store = { ping: async () => here };
  await using served = await serveMetrics({ address: '127.0.0.1:0', metrics: metrics as WorkerMetrics, store, log: pino({ level: 'silent' }) });
  expect(await (await fetch(`${served.url}/metrics?collect=all`)).text()).toBe('a 1\n');
  const probe = async (path: string) => {
    const response = await fetch(`${served.url}/${path}`, { method: 'HEAD' });
    return [response.status, await response.text()];
  };
  expect([await probe('metrics'), await probe('healthz?full'), await probe('health'), await probe('none')]).toEqual(
    [200, 200, 200, 404].map((code) => [code, '']),
  );
  here = false;
  expect(await probe('healthz')).toEqual([503, '']);
  expect((await fetch(`${served.url}/healthz`, { method: 'POST' })).status).toBe(404);
});
