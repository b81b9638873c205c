import { connect, type Longshore } from '../../../src/client.ts';
import { httpEvents } from '../../../src/client/http/http-events.ts';
import { createHttpLink } from '../../../src/client/http/http-link.ts';
import { isFailure } from '../../../src/contracts/errors.ts';
import { answering, type Answer } from './answering.ts';

const lost: Answer = (response) => void response.destroy();
const given: Answer = (response) => void response.end('{}');
const UNKNOWN = 'whether the request took effect is not known';

const answeringWith = (...answers: Answer[]) => answering(answers, lost);

const POSTS: Record<string, (longshore: Longshore) => Promise<unknown>> = {
  pause: (longshore) => longshore.pause('conv_1', { mode: 'now' }),
  resume: (longshore) => longshore.resume('conv_1', { extraTurns: 5 }),
  interrupt: (longshore) => longshore.interrupt('conv_1'),
  stopAfterStep: (longshore) => longshore.stopAfterStep('conv_1'),
  cancel: (longshore) => longshore.cancel('conv_1'),
  compact: (longshore) => longshore.compact('conv_1'),
  close: (longshore) => longshore.close('conv_1'),
  'schedules.trigger': (longshore) => longshore.schedules.trigger('daily'),
  'schedules.pause': (longshore) => longshore.schedules.pause('daily'),
  'keys.create': (longshore) => longshore.keys.create({ name: 'a', scopes: ['admin'] }),
  'keys.rotate': (longshore) => longshore.keys.rotate('key_1'),
  'plugins.grant': (longshore) => longshore.plugins.grant('one', { network: ['example.org'] }),
  'plugins.reload': (longshore) => longshore.plugins.reload('one'),
  'webhooks.create': (longshore) => longshore.webhooks.create({ url: 'https://hooks.example' }),
  'webhooks.replay': (longshore) => longshore.webhooks.replay('hook_1', { since: '2027-01-31T09:00:00Z' }),
};

test.each(Object.entries(POSTS))('%s whose answer is lost is sent again with its Idempotency-Key, and each has one of its own', async (_, call) => {
  await using client = await answeringWith(lost, given, given);
  await call(client.longshore);
  await call(client.longshore);
  const [first, repeated, other] = client.service.requests.map(({ headers }) => headers['idempotency-key']);
  expect(first).toEqual(expect.any(String));
  expect(repeated).toBe(first);
  expect(other).not.toBe(first);
});

test('an answer to an approval is sent again with its key', async () => {
  const row: Answer = (response) => void response.end('{"conversationId":"conv_1"}');
  await using client = await answeringWith(row, lost, given);
  await client.longshore.approve('conv_1', { callId: 'call_1', answer: 'allow-once' });
  const [, first, repeated] = client.service.requests.map(({ headers }) => headers['idempotency-key']);
  expect([typeof first, repeated]).toEqual(['string', first]);
});

test('who cannot know whether a request took effect is told so', async () => {
  await using client = await answeringWith();
  const unreachable = { code: 'SERVICE_UNREACHABLE', message: expect.stringContaining(UNKNOWN) as string };
  await expect(client.longshore.schedules.delete('daily')).rejects.toMatchObject(unreachable);
  await expect(client.longshore.resume('conv_1', { extraTurns: 5 })).rejects.toMatchObject(unreachable);
  // What only reads has no effect, and what was not sent neither.
  const known = { code: 'SERVICE_UNREACHABLE', message: expect.not.stringContaining(UNKNOWN) as string };
  await expect(client.longshore.list()).rejects.toMatchObject(known);
  await using nowhere = await connect({ url: 'http://127.0.0.1:9', apiKey: 'lsk_test' });
  await expect(nowhere.schedules.delete('daily')).rejects.toMatchObject(known);
}, 30_000);

test('that the last attempts reached nothing does not say what became of the first', async () => {
  await using client = await answeringWith((response) => {
    response.destroy();
    void client.service[Symbol.asyncDispose]();
  });
  await expect(client.longshore.cancel('conv_1')).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE', message: expect.stringContaining(UNKNOWN) as string });
}, 30_000);

test('an error of a newer service keeps its code and its message', async () => {
  const problem = {
    type: 'urn:longshore:error:TIDE_TOO_LOW',
    status: 409,
    code: 'TIDE_TOO_LOW',
    detail: 'The tide is too low. Wait for noon',
    retryable: false,
    values: { metres: 0.3 },
  };
  const newer: Answer = (response) => void response.writeHead(409, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
  await using client = await answeringWith(newer, newer);
  const error: unknown = await client.longshore.pause('conv_1').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'LongshoreError', code: problem.code, message: problem.detail, values: problem.values, retryable: false });
  expect(isFailure(error)).toBe(true);
  expect(client.service.requests).toHaveLength(1);
  await expect(client.longshore.events('conv_1')[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: problem.code });
});

test('an error that only looks like one of the service is not taken for it', async () => {
  const other: Answer = (response) => void response.writeHead(403).end(JSON.stringify({ code: 'FORBIDDEN', detail: 'No.' }));
  await using client = await answeringWith(...Array.from({ length: 4 }, () => other));
  await expect(client.longshore.chat('conv_1')).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
}, 30_000);

test('a stream that says nothing, not even that it lives, is opened again where it was', async () => {
  const event = (seq: number, type = 'note') =>
    `id: ${seq}\ndata: ${JSON.stringify({ seq, at: '2027-01-31T09:00:00Z', conversationId: 'conv_1', type, data: {} })}\n\n`;
  const stream =
    (text: string): Answer =>
    (response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text);
  await using client = await answeringWith(stream(event(1)), () => undefined, stream(event(2) + event(3, 'conversation.closed')));
  const link = createHttpLink({ url: client.service.url, apiKey: 'lsk_test' });
  const seqs: number[] = [];
  for await (const { seq } of httpEvents(link, 'conv_1', { afterSeq: 0, signal: new AbortController().signal, silentMs: 300 })) seqs.push(seq);
  expect(seqs).toEqual([1, 2, 3]);
  expect(client.service.requests.map(({ headers }) => headers['last-event-id'])).toEqual(['0', '1', '1']);
}, 30_000);

test('a reader that takes its time is not taken for a stream that says nothing', async () => {
  const frame = (seq: number, type = 'note') => `id: ${seq}\ndata: ${JSON.stringify({ seq, type })}\n\n`;
  await using client = await answeringWith((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame(1) + frame(2));
    setTimeout(() => response.end(frame(3, 'conversation.closed')), 50);
  });
  const link = createHttpLink({ url: client.service.url, apiKey: 'lsk_test' });
  const seqs: number[] = [];
  for await (const { seq } of httpEvents(link, 'conv_1', { afterSeq: 0, signal: new AbortController().signal, silentMs: 200 })) {
    seqs.push(seq);
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  expect(seqs).toEqual([1, 2, 3]);
  expect(client.service.requests).toHaveLength(1);
}, 30_000);
