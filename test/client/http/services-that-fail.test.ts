import type { ConversationEvent, Longshore } from '../../../src/client.ts';
import { failure, type LongshoreError } from '../../../src/contracts/errors.ts';
import { sendEvents } from '../../models/provider-server.ts';
import { answering, type Answer } from './answering.ts';

const AWAY = failure('SERVICE_AWAY', { cause: 'INTERNAL', request: 'r' });
const STREAMS = failure('STREAM_LIMIT', { limit: 1 });
const event = (seq: number, data: object = {}) => ({ seq, at: '2027-01-31T09:00:00Z', conversationId: 'conv_1', type: 'note', data });
const refuse =
  ({ code, values }: LongshoreError, status: number): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify({ code, values }));
const turn: Answer = (response) => void response.end(JSON.stringify({ turn: { turnId: 'turn_1', outcome: 'finished', reply: 'Ahoy.' } }));
const runs: Answer = (response) => void response.writeHead(202).end('{}');

const answeringWith = (...answers: Answer[]) => answering(answers, refuse(AWAY, 503));

async function seqsOf(events: AsyncIterable<ConversationEvent>): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of events) seqs.push(seq);
  return seqs;
}

test('a reader whose former stream still counts for a moment goes on when there is room', async () => {
  const stream =
    (...seqs: number[]): Answer =>
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(seqs.map((seq) => `id: ${seq}\ndata: ${JSON.stringify(event(seq))}\n\n`).join(''), () => response.destroy());
    };
  const limit = failure('LIMIT_REACHED', { limit: 'requestsPerMinute', of: 'key', allowed: 1, retryAfter: 1 });
  await using client = await answeringWith(stream(1), refuse(limit, 429), refuse(STREAMS, 429), stream(2), (response) => void response.writeHead(204).end());
  expect(await seqsOf(client.longshore.events('conv_1'))).toEqual([1, 2]);
}, 30_000);

test('who follows more than the key may is told so at once', async () => {
  await using client = await answeringWith(refuse(STREAMS, 429));
  await expect(seqsOf(client.longshore.events('conv_1'))).rejects.toMatchObject({ code: 'STREAM_LIMIT' });
});

test('a page in place of a stream is no stream without events', async () => {
  const page: Answer = (response) => void response.setHeader('content-type', 'text/html').end('<!doctype html>');
  await using client = await answeringWith(page);
  await expect(seqsOf(client.longshore.events('conv_1'))).rejects.toMatchObject({
    code: 'SERVICE_UNREACHABLE',
    message: expect.stringContaining('it answered 200, and not as Longshore does') as unknown,
  });
});

test('an event of any depth that a conversation has can be read', async () => {
  const deep = JSON.parse(`${'['.repeat(600)}${']'.repeat(600)}`) as never;
  await using client = await answeringWith(
    (response) => sendEvents(response, [JSON.stringify(event(1, { deep }))]),
    (response) => void response.writeHead(204).end(),
  );
  expect(await seqsOf(client.longshore.events('conv_1'))).toEqual([1]);
});

test('who waits for the end of a turn waits while the service is away, or the key has no room', async () => {
  await using client = await answeringWith(runs, ...Array.from({ length: 5 }, () => refuse(AWAY, 503)), refuse(STREAMS, 429), turn);
  expect(await client.longshore.reply('conv_1', 'turn_1')).toBe('Ahoy.');
}, 30_000);

test.each([
  ['reply', (longshore: Longshore) => longshore.reply('conv_1', 'turn_1')],
  ['answer', (longshore: Longshore) => longshore.answer('conv_1', undefined, 'turn_1')],
])('%s of a client that is closed says so, and not that the conversation is', async (_, call) => {
  await using client = await answeringWith(() => void client.longshore[Symbol.asyncDispose]());
  await expect(call(client.longshore)).rejects.toMatchObject({ code: 'CLIENT_CLOSED' });
  await expect(call(client.longshore)).rejects.toMatchObject({ code: 'CLIENT_CLOSED' });
});

test.each([
  ['an attachment', (longshore: Longshore) => longshore.attachment('conv_1', 'sha256:1')],
  ['a patch', (longshore: Longshore) => longshore.diff('conv_1', { patch: true })],
  [
    'an export',
    async (longshore: Longshore) => {
      for await (const _ of await longshore.export('conv_1')) continue;
    },
  ],
])('%s that breaks off is an error of the table', async (_, call) => {
  const broken: Answer = (response, { path }) => {
    if (path.includes('info=') || (path.includes('/diff') && !path.includes('format='))) response.end('{}');
    else response.writeHead(200, { 'content-length': 100 }).write('a', () => response.destroy());
  };
  await using client = await answeringWith(broken, broken);
  await expect(call(client.longshore)).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' });
});

test('an export that is read when the client is closed ends', async () => {
  await using client = await answeringWith((response) => void response.writeHead(200).write('a'));
  const archive = await client.longshore.export('conv_1');
  const read = (async () => {
    for await (const _ of archive) await client.longshore[Symbol.asyncDispose]();
  })();
  await expect(read).rejects.toMatchObject({ code: 'CLIENT_CLOSED' });
});

test.each([301, 302, 303, 307, 308])('a service that answers %d leads nowhere: a request would become a GET, or lose its key', async (status) => {
  const away: Answer = (response) => void response.writeHead(status, { location: '/elsewhere' }).end();
  await using client = await answeringWith(away, (response) => void response.end('{"conversations":[]}'));
  await expect(client.longshore.keys.revoke('key_1')).rejects.toMatchObject({
    code: 'SERVICE_UNREACHABLE',
    message: expect.stringContaining(`it answered ${status}, which leads to ${client.service.url}/elsewhere`) as unknown,
  });
  expect(client.service.requests).toHaveLength(1);
});
