import { install, type Installation } from '../e2e/support.ts';
import { startApi, type TestApi } from '../api/support.ts';

/** Two installations with databases of their own that use one Temporal namespace. No worker runs: what is started stays open. */
let north: Installation;
let south: Installation;
let services: TestApi[];
beforeAll(async () => {
  [north, south] = await Promise.all([install([{ say: 'Ahoy.' }]), install([{ say: 'Ahoy.' }])]);
  services = await Promise.all([startApi(north), startApi(south)]);
}, 180_000);
afterAll(async () => {
  await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
  await Promise.all([north[Symbol.asyncDispose](), south[Symbol.asyncDispose]()]);
}, 180_000);

test('an id that another installation has used is refused, and a repeated start of the first one gives its conversation', async () => {
  const options = { agent: 'scripted', user: 'user-1', conversationId: north.name };
  const chat = await north.longshore.start(options);
  await expect(south.longshore.start(options)).rejects.toMatchObject({
    code: 'CONVERSATION_EXISTS',
    message: `The id "${north.name}" is taken by another conversation. Choose another, or leave it out to get a new one`,
  });
  expect((await south.store.conversations.get(north.name))?.state).toBe('closed');
  expect((await north.longshore.start(options)).id).toBe(chat.id);
  expect((await north.store.conversations.get(north.name))?.state).toBe('idle');
});

test.each<[string, Record<string, unknown>]>([
  ['/v1/conversations', { agent: 'scripted', user: 'user-1', message: 'Ahoy.' }],
  ['/openai/v1/chat/completions', { model: 'scripted', stream: true, messages: [{ role: 'user', content: 'Ahoy.' }] }],
  ['/api/chat', { id: 'chat-1', agent: 'scripted', user: 'user-1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Ahoy.' }] }] }],
])('%s: the same Idempotency-Key or chat id stands for another conversation in each installation', async (path, body) => {
  const newest = async (service: TestApi, { store }: Installation) => {
    const headers = { ...(await service.key()), 'content-type': 'application/json', 'idempotency-key': 'order-4711' };
    const stop = new AbortController();
    const { ok } = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body), signal: stop.signal });
    stop.abort();
    const [row] = await store.conversations.list({ limit: 1 });
    return { ok, id: row?.conversationId, state: row?.state };
  };
  const seen = await Promise.all([newest(services[0]!, north), newest(services[1]!, south)]);
  expect(seen).toEqual([expect.objectContaining({ ok: true, state: 'running' }), expect.objectContaining({ ok: true, state: 'running' })]);
  expect(seen[0]?.id).not.toBe(seen[1]?.id);
});
