import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { frameOf } from '../../../src/api/stream/event-frames.ts';
import type { ConversationEvent } from '../../../src/contracts/events.ts';
import { install, until, type Installation } from '../../e2e/support.ts';
import { framesOf, isEvent, startApi, type TestApi } from '../support.ts';

let installation: Installation;
let service: TestApi;
let headers: { authorization: string };
beforeAll(async () => {
  installation = await install([
    { call: 'shell:run', with: { command: 'for i in $(seq 2000); do echo line $i; done' }, expect: { exitCode: 0 } },
    { say: 'Counted.' },
  ]);
  await installation.startWorker().ready;
  service = await startApi(installation);
  headers = await service.key();
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

const post = (path: string, body: object, more: Record<string, string> = {}) =>
  fetch(`${service.url}${path}`, { method: 'POST', headers: { ...headers, 'content-type': 'application/json', ...more }, body: JSON.stringify(body) });
const stream = (id: string, more: Record<string, string> = {}, query = '') =>
  fetch(`${service.url}/v1/conversations/${id}/events${query}`, { headers: { ...headers, accept: 'text/event-stream', ...more } });

async function logOf(id: string): Promise<string[]> {
  const events: ConversationEvent[] = [];
  for (let page = await installation.store.events.read(id, 0); page.length > 0; page = await installation.store.events.read(id, events.at(-1)!.seq))
    events.push(...page);
  return events.map((event) => frameOf(event).text);
}

async function eventsOf(response: Response): Promise<string[]> {
  const frames: string[] = [];
  for await (const frame of framesOf(response)) if (isEvent(frame)) frames.push(frame);
  return frames;
}

test('a conversation that is started over HTTP is followed to its end, and read again byte for byte when it is closed', async () => {
  const answer = await post('/v1/conversations', { agent: 'scripted', user: 'user-1', message: 'Count.', closeWhenDone: true });
  expect(answer.status).toBe(202);
  const { conversationId: id, turnId } = (await answer.json()) as { conversationId: string; turnId: string };
  expect(answer.headers.get('location')).toBe(`/v1/conversations/${id}`);
  const live = await stream(id);
  expect(live.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const events = await eventsOf(live);
  expect(events).toEqual(await logOf(id));
  expect(events.map((frame) => Number(/^id: (\d+)\n/.exec(frame)?.[1]))).toEqual(events.map((_, index) => index + 1));
  const types = events.map((frame) => (JSON.parse(frame.split('\ndata: ')[1] ?? '') as ConversationEvent).type);
  expect([types[0], types.at(-1)]).toEqual(['conversation.started', 'conversation.closed']);
  expect(await eventsOf(await stream(id))).toEqual(events);
  expect(await eventsOf(await stream(id, { 'last-event-id': '3' }))).toEqual(events.slice(3));
  expect(await eventsOf(await stream(id, {}, '?after=5'))).toEqual(events.slice(5));
  expect((await stream(id, { 'last-event-id': String(events.length) })).status).toBe(204);
  const status = (await (await fetch(`${service.url}/v1/conversations/${id}`, { headers })).json()) as {
    state: string;
    status: { lastTurn: { turnId: string } };
  };
  expect([status.state, status.status.lastTurn.turnId]).toEqual(['closed', turnId]);
}, 180_000);

test('a reader of some types that has the last of them is told that nothing comes any more', async () => {
  const answer = await post('/v1/conversations?wait=60', { agent: 'scripted', user: 'user-1', message: 'Count.', closeWhenDone: true });
  const { conversationId: id } = (await answer.json()) as { conversationId: string };
  await until(async () => (await installation.store.conversations.get(id))?.state === 'closed', 'the conversation is closed');
  const query = '?types=turn.started,text.delta';
  const some = await eventsOf(await stream(id, {}, query));
  expect(some.length).toBeGreaterThan(1);
  const last = /^id: (\d+)\n/.exec(some.at(-1) ?? '')?.[1] ?? '';
  expect((await stream(id, { 'last-event-id': last })).status).toBe(200);
  expect((await stream(id, { 'last-event-id': last }, query)).status).toBe(204);
}, 60_000);

test('a number beyond those of events is after all of them', async () => {
  const answer = await post('/v1/conversations', { agent: 'scripted', user: 'user-1' });
  const { conversationId: id } = (await answer.json()) as { conversationId: string };
  for (const number of [2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
    const pages = { events: { events: [] }, transcript: { entries: [] }, 'tree/events': { events: [] } };
    for (const [path, page] of Object.entries(pages)) {
      const after = path === 'tree/events' ? `${id}:${String(number).slice(0, 15)}` : number;
      const read = await fetch(`${service.url}/v1/conversations/${id}/${path}?after=${after}`, { headers });
      expect([path, read.status, await read.json()]).toEqual([path, 200, page]);
    }
    const ui = await fetch(`${service.url}/v1/conversations/${id}/transcript?format=ui&before=${number}`, { headers });
    expect(ui.status).toBe(200);
  }
}, 60_000);

test('`wait` answers with the turn; `types` and `until` choose what a stream has', async () => {
  const answer = await post('/v1/conversations?wait=60', { agent: 'scripted', user: 'user-1', message: 'Count.' });
  const { conversationId: id, turn } = (await answer.json()) as { conversationId: string; turn: object };
  expect([answer.status, turn]).toEqual([201, { turnId: expect.stringMatching(/^turn_/) as string, outcome: 'finished', reply: 'Counted.' }]);
  const some = await eventsOf(await stream(id, {}, '?types=turn.started,turn.finished&until=turn.finished'));
  expect(some.map((frame) => (JSON.parse(frame.split('\ndata: ')[1] ?? '') as ConversationEvent).type)).toEqual(['turn.started', 'turn.finished']);
  // As `curl -X POST` sends it: without a body.
  expect((await fetch(`${service.url}/v1/conversations/${id}/close`, { method: 'POST', headers })).status).toBe(202);
}, 180_000);

test('a request that is repeated with its Idempotency-Key starts one conversation; with another body it is refused', async () => {
  const key = { 'idempotency-key': 'order-4711' };
  const body = { agent: 'scripted', user: 'user-1', message: 'Count.', closeWhenDone: true };
  const answers = await Promise.all([post('/v1/conversations', body, key), post('/v1/conversations', body, key)]);
  const [first, second] = (await Promise.all(answers.map((answer) => answer.json()))) as object[];
  expect(second).toEqual(first);
  expect(await (await post('/v1/conversations', body, key)).json()).toEqual(first);
  const other = await post('/v1/conversations', { ...body, message: 'Count again.' }, key);
  expect([other.status, ((await other.json()) as { code: string }).code]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
  await eventsOf(await stream((first as { conversationId: string }).conversationId));
}, 180_000);

test('a reader that reads nothing keeps a page in memory, and goes on where it was', async () => {
  const { conversationId: id } = (await (await post('/v1/conversations', { agent: 'scripted', user: 'user-1' })).json()) as { conversationId: string };
  const text = 'x'.repeat(10_000);
  for (let round = 0; round < 50; round += 1) {
    await installation.store.events.append(
      id,
      Array.from({ length: 20 }, () => ({ type: 'note' as const, data: { text } })),
    );
  }
  let reads = 0;
  const slow = await new Promise<IncomingMessage>((resolve) => {
    get(`${service.url}/v1/conversations/${id}/events`, { headers: { ...headers, accept: 'text/event-stream' } }, (response) => resolve(response.pause()));
  });
  await once(slow, 'readable');
  let before = -1;
  // The buffers of both kernels fill first.
  await until(async () => before === (before = slow.readableLength + slow.socket.bytesRead), 'nothing more comes');
  expect(slow.socket.bytesRead).toBeLessThan(8_000_000);
  const all = await logOf(id);
  let received = '';
  for await (const chunk of slow as AsyncIterable<Buffer>) {
    received += chunk.toString();
    reads += 1;
    if (received.split('\n\n').filter((frame) => frame.startsWith('id: ')).length >= all.length && received.endsWith('\n\n')) break;
  }
  expect(reads).toBeGreaterThan(1);
  expect(
    received
      .split('\n\n')
      .filter((frame) => frame.startsWith('id: '))
      .map((frame) => `${frame}\n\n`),
  ).toEqual(all);
  await post(`/v1/conversations/${id}/close`, {});
}, 180_000);

test('readers that go at any moment leave no stream behind: the service stops at once', async () => {
  await using other = await startApi(installation);
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1' });
  const asking = Array.from({ length: 60 }, async (_, index) => {
    const leaving = new AbortController();
    const answer = fetch(`${other.url}/v1/conversations/${id}/${index % 2 === 0 ? 'events' : 'turn?wait=60'}`, {
      headers: { ...headers, accept: 'text/event-stream' },
      signal: leaving.signal,
    }).catch(() => undefined);
    setTimeout(() => leaving.abort(), index);
    await answer;
  });
  await Promise.all(asking);
  const before = performance.now();
  await other.api.close();
  expect(performance.now() - before).toBeLessThan(5_000);
  await installation.longshore.close(id);
}, 60_000);

test('a key has only so many streams open at one process; another key is not affected, and a closed stream makes room', async () => {
  await using other = await startApi(installation, { streamsPerKey: 2 });
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1' });
  const leaving = new AbortController();
  const open = async (key: { authorization: string }) =>
    fetch(`${other.url}/v1/conversations/${id}/events`, { headers: { ...key, accept: 'text/event-stream' }, signal: leaving.signal });
  expect([(await open(headers)).status, (await open(headers)).status]).toEqual([200, 200]);
  const refused = await open(headers);
  expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([
    429,
    'This key has 2 streams and waiting requests open, as many as it may. Close one of them, or use another key',
  ]);
  expect((await open(await service.key())).status).toBe(200);
  leaving.abort();
  const again = () => fetch(`${other.url}/v1/conversations/${id}/events?until=conversation.started`, { headers: { ...headers, accept: 'text/event-stream' } });
  await until(async () => (await again()).status === 200, 'there is room');
  await installation.longshore.close(id);
}, 60_000);
