import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { propagation } from '@opentelemetry/api';
import type { ServerResponse } from 'node:http';
import { failure } from '../../../src/contracts/errors.ts';
import { connect, type Longshore } from '../../../src/client.ts';
import { createHttpLink } from '../../../src/client/http/http-link.ts';
import { startProvider } from '../../models/provider-server.ts';

const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

test('a request names the trace of a program that has set up OpenTelemetry, and no other', async () => {
  await using service = await startProvider((response) => void response.end('{}'));
  const link = createHttpLink({ url: service.url, apiKey: 'lsk_test' });
  await link.json('/v1/agents');
  propagation.setGlobalPropagator({
    inject: (_context, carrier, setter) => setter.set(carrier, 'traceparent', TRACEPARENT),
    extract: (given) => given,
    fields: () => ['traceparent'],
  });
  try {
    await link.json('/v1/agents');
  } finally {
    propagation.disable();
  }
  expect(service.requests.map(({ headers }) => [headers.authorization, headers['traceparent']])).toEqual([
    ['Bearer lsk_test', undefined],
    ['Bearer lsk_test', TRACEPARENT],
  ]);
});

test('an error of the archive that is imported is not called one of the service', async () => {
  await using service = await startProvider((response) => void response.end('{}'));
  await using longshore = await connect({ url: service.url, apiKey: 'lsk_test' });
  const imported = (...chunks: unknown[]) => longshore.import(broken(chunks));
  await expect(imported(Buffer.from('a'))).rejects.toThrow(/^The disk is gone\.$/);
  await expect(imported(Buffer.from('a'), { b: 1 })).rejects.toThrow('archive: it is an object. Give a stream of bytes, such as createReadStream(file)');
  await expect(longshore.import(createReadStream('/nowhere.tar.gz'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a service that cannot be reached is named, whatever the archive is', async () => {
  await using longshore = await connect({ url: 'http://127.0.0.1:9', apiKey: 'lsk_test' });
  await expect(longshore.import(Readable.from([Buffer.from('a')]))).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
});

test('a request that did not get its answer, and whose first attempt is in progress, is repeated until it has one', async () => {
  const running = failure('IDEMPOTENCY_RUNNING', { key: 'k' });
  const answers: ((response: ServerResponse) => void)[] = [
    (response) => response.destroy(),
    (response) => response.writeHead(409).end(JSON.stringify({ code: running.code, values: running.values })),
    (response) => response.end('{"done":true}'),
  ];
  await using service = await startProvider((response) => answers.shift()?.(response));
  const link = createHttpLink({ url: service.url, apiKey: 'lsk_test' });
  const headers = { 'idempotency-key': 'k' };
  expect(await link.json('/v1/x', { method: 'POST', body: {}, headers })).toEqual({ done: true });
  expect(service.requests.map((request) => request.headers['idempotency-key'])).toEqual(['k', 'k', 'k']);

  // Of a key that this client has not sent before, another one may have made the request.
  answers.push((response) => response.writeHead(409).end(JSON.stringify({ code: running.code, values: running.values })));
  await expect(link.json('/v1/x', { method: 'POST', body: {}, headers })).rejects.toMatchObject({ code: 'IDEMPOTENCY_RUNNING' });
});

test('what answers with a page in place of JSON is no service, and is named', async () => {
  await using service = await startProvider((response) => void response.setHeader('content-type', 'text/html').end('<!doctype html>'));
  await using longshore = await connect({ url: service.url, apiKey: 'lsk_test' });
  const message = `The Longshore service cannot be reached at ${service.url}: it answered 200, and not as Longshore does. Check the address, or start it: longshore serve`;
  await expect(longshore.list()).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE', message });
  await expect(longshore.import(Readable.from([Buffer.from('1')]))).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE', message });
});

test('a request whose answer breaks off is sent again, if that has no other effect', async () => {
  let answers = 0;
  await using service = await startProvider((response) => {
    answers += 1;
    if (answers > 1) response.end('[]');
    else response.writeHead(200, { 'content-length': 100 }).write('[{"conversationId"', () => response.destroy());
  });
  const link = createHttpLink({ url: service.url, apiKey: 'lsk_test' });
  expect(await link.json('/v1/conversations')).toEqual([]);
  answers = 0;
  await expect(link.json('/v1/conversations', { method: 'DELETE' })).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
  expect(answers).toBe(1);
});

/** Some chunks, and then an error. */
async function* broken(chunks: unknown[]): AsyncGenerator<Uint8Array> {
  yield* chunks as Uint8Array[];
  throw new Error('The disk is gone.');
}

test.each([
  ['.', 'a webhook of a plugin', (longshore: Longshore) => longshore.plugins.removeWebhook('.', 'hook_1')],
  ['..', 'a webhook of a plugin', (longshore: Longshore) => longshore.plugins.removeWebhook('..', 'hook_1')],
  ['..', 'a conversation', (longshore: Longshore) => longshore.close('..')],
  ['.', 'a conversation', (longshore: Longshore) => longshore.chat('.')],
  ['..', 'a schedule', (longshore: Longshore) => longshore.schedules.delete('..')],
])('"%s" as the id of %s never becomes the address of something else', async (_id, _what, call) => {
  await using service = await startProvider((response) => void response.end('{}'));
  await using longshore = await connect({ url: service.url, apiKey: 'lsk_test' });
  await expect(call(longshore)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(service.requests).toEqual([]);
});

test.each(['', '/', '/longshore', '/longshore/'])('a service is reached behind the path of its address: %j', async (prefix) => {
  await using service = await startProvider((response) => void response.end('{}'));
  const link = createHttpLink({ url: `${service.url}${prefix}`, apiKey: 'lsk_test' });
  await link.json('/v1/conversations/a.b..c?after=..');
  expect(service.requests.map(({ path }) => path)).toEqual([`${prefix.replace(/\/$/, '')}/v1/conversations/a.b..c?after=..`]);
});
