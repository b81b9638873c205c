import { connect, type Longshore } from '../../src/client.ts';
import { newConversation, openTestStore } from '../store/support.ts';

let stack: Awaited<ReturnType<typeof openTestStore>>;
let conversationId: string;
beforeAll(async () => {
  stack = await openTestStore();
  conversationId = await newConversation(stack.store);
});
afterAll(async () => await stack[Symbol.asyncDispose]());

const CALLS: [string, (longshore: Longshore) => Promise<unknown>][] = [
  ['list', (longshore) => longshore.list()],
  ['send', (longshore) => longshore.send(conversationId, 'Hi')],
  ['reply', (longshore) => longshore.reply(conversationId)],
  ['tools', (longshore) => longshore.tools(conversationId, {})],
  ['memory.list', (longshore) => longshore.memory.list({})],
  ['schedules.list', (longshore) => longshore.schedules.list()],
  ['events', async (longshore) => longshore.events(conversationId)[Symbol.asyncIterator]().next()],
  ['treeEvents', async (longshore) => longshore.treeEvents(conversationId)[Symbol.asyncIterator]().next()],
];

test.each(CALLS)('%s of a client that was closed names that, and no server', async (_, call) => {
  const inProcess = await connect({ databaseUrl: stack.url, lazy: true });
  const overHttp = await connect({ url: 'http://127.0.0.1:9', apiKey: 'lsk_test' });
  for (const longshore of [inProcess, overHttp]) {
    await longshore[Symbol.asyncDispose]();
    await expect(call(longshore)).rejects.toMatchObject({ code: 'CLIENT_CLOSED', retryable: false });
    await longshore[Symbol.asyncDispose]();
  }
});

test('what waits when the client is closed ends with that', async () => {
  const longshore = await connect({ databaseUrl: stack.url, lazy: true });
  const chat = await longshore.chat(conversationId);
  const waits = [chat.reply(), chat.answer()].map((wait) => wait.catch((error: unknown) => error));
  const followed = chat.events()[Symbol.asyncIterator]().next();
  await longshore[Symbol.asyncDispose]();
  expect(await Promise.all(waits)).toMatchObject([{ code: 'CLIENT_CLOSED' }, { code: 'CLIENT_CLOSED' }]);
  expect(await followed).toEqual({ done: true, value: undefined });
  await expect(chat.status()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' });
});
