import type { JsonObject } from '../../src/contracts/json.ts';
import { startProvider } from './provider-server.ts';
import { ask, hello, makeModel, makeRequest } from './support.ts';

test.each([
  [{ 'retry-after': '' }, undefined],
  [{ 'retry-after-ms': '', 'retry-after': '30' }, 30_000],
  [{ 'retry-after-ms': '1500', 'retry-after': '30' }, 1500],
  [{ 'retry-after': '-5' }, undefined],
  [{ 'retry-after': '9'.repeat(30) }, 3_600_000],
])('a pause is what the provider says in %j', async (headers, pause) => {
  await using server = await startProvider((response) => response.writeHead(429, headers as Record<string, string>).end('{}'));
  const error = await ask(makeModel('openai-compatible/qwen', { baseUrl: server.url }), makeRequest([hello])).catch((error: unknown) => error);
  expect((error as { values: JsonObject }).values.retryAfterMs).toBe(pause);
});

test('an address with a password in it is refused, and not shown', () => {
  const make = () => makeModel('openai-compatible/qwen', { baseUrl: 'http://me:s3cret@127.0.0.1/v1' });
  expect(make).toThrow(/has a name or a password in it/);
  expect(make).not.toThrow(/s3cret/);
});
