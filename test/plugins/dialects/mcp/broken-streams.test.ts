import { pauseBeforeReconnect } from '../../../../src/plugins/dialects/mcp/connection/open-transport.ts';
import { deferred } from '../../../../src/common/deferred.ts';
import { serveNewer } from './generations/newer-support.ts';
import { memoryStore } from './memory-store.ts';
import { call, hostileProgram, openBench, serveFixture, type Bench } from './support.ts';

const LONG_MS = 600_000;
const EVENTS = { 'content-type': 'text/event-stream' };
const benchOf = (url: string): Promise<Bench> => openBench({ url, headers: {}, timeoutMs: LONG_MS });
const called = (callId: string) => ({ callId, store: memoryStore() });

test('a call whose stream ends without its answer is unknown, and other calls over the connection go on', async () => {
  await using served = await serveFixture(0, undefined, (_request, response, body) => {
    if (!body.includes('"name":"count"')) return false;
    response.writeHead(200, EVENTS).end(': nothing follows\n\n');
    return true;
  });
  await using bench = await benchOf(served.url);
  const begun = deferred<void>();
  const end = new AbortController();
  const other = call(bench, 'slow', { ms: LONG_MS }, { heartbeat: () => begun.resolve(), signal: end.signal });
  other.catch(() => undefined);
  await begun.promise;
  await expect(call(bench, 'count')).rejects.toThrow('the MCP server fix broke off its answer to this call, so it is not known whether the call took effect');
  expect(bench.plugin().alerts.filter(({ level }) => level === 'error')).toEqual([]);
  end.abort(new Error('the test is over'));
  await expect(other).rejects.toThrow('the test is over');
});

test('an answer of the revision 2026-07-28 that breaks off ends its own call alone', async () => {
  await using served = await serveNewer({
    guard: ({ headers }, response) => {
      if (headers['mcp-name'] !== 'era') return false;
      response.writeHead(200, EVENTS).write(': it begins\n\n', () => response.destroy());
      return true;
    },
  });
  await using bench = await benchOf(served.url);
  const end = new AbortController();
  const other = call(bench, 'slow', {}, { ...called('call_1'), signal: end.signal });
  other.catch(() => undefined);
  await expect(call(bench, 'era', {}, called('call_2'))).rejects.toThrow('broke off its answer to this call');
  expect(bench.plugin().alerts.filter(({ level }) => level === 'error')).toEqual([]);
  end.abort(new Error('the test is over'));
  await expect(other).rejects.toThrow('the test is over');
});

test('a server that sends too large a message by itself is ended, too', async () => {
  await using served = await serveFixture(0, undefined, ({ method }, response) => {
    if (method !== 'GET') return false;
    response.writeHead(200, EVENTS).end(`id: 1\ndata: ${'x'.repeat(9_000_000)}\n\n`);
    return true;
  });
  await using bench = await benchOf(served.url);
  await bench.until(({ alerts }) => alerts.some(({ text }) => text.includes('it sent a message that is larger than 8388608 bytes')));
});

test('a stream that a server ends again and again is not opened without pauses', async () => {
  const opened: number[] = [];
  const enough = deferred<void>();
  await using served = await serveFixture(0, undefined, ({ method }, response) => {
    if (method !== 'GET') return false;
    if (opened.push(performance.now()) === 4) enough.resolve();
    response.writeHead(200, EVENTS).end('retry: 0\n\n');
    return true;
  });
  await using bench = await benchOf(served.url);
  await enough.promise;
  expect(opened[3]! - opened[0]!).toBeGreaterThan(700);
  expect(bench.plugin().problem).toBeUndefined();
  expect([0, 1_000, 99_999_999_999].map(pauseBeforeReconnect)).toEqual([250, 1_000, 2_147_483_647]);
});

test('a server that refuses a call with a code of its own is quoted, and stays', async () => {
  await using bench = await openBench(
    hostileProgram(`on('tools/call', ({ id }) => send({ id, error: { code: -32000, message: 'rate limit', data: 'it broke off' } }));`),
  );
  await expect(call(bench, 'go')).rejects.toThrow('rate limit');
  expect(bench.plugin().alerts).toEqual([]);
});

test('a program whose answer has NaN fails the call alone, at once', async () => {
  await using bench = await openBench(
    hostileProgram(`on('tools/call', ({ id, params: { arguments: { plain, asks, last } } }) => {
      if (asks) process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"method":"ping","params":NaN}\\n{"method":"ping","params":NaN,"id":' + id + '}\\n');
      if (plain || asks) return reply(id, { content: [] });
      const result = '"result":{"content":[],"structuredContent":{"a":NaN}}';
      process.stdout.write(last ? '{' + result + ',"jsonrpc":"2.0","id":' + id + '}\\n' : '{"jsonrpc":"2.0","id":' + id + ',' + result + '}\\n');
    });`),
  );
  await expect(call(bench, 'go')).rejects.toThrow('its answer is not JSON');
  await expect(call(bench, 'go', { last: true })).rejects.toThrow('its answer is not JSON');
  expect(await call(bench, 'go', { asks: true })).toBe('Done.');
  expect(await call(bench, 'go', { plain: true })).toBe('Done.');
});
