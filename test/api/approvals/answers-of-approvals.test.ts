import type { Chat } from '../../../src/client.ts';
import { installAgents, textIn, untilEvent, type Installation } from '../../e2e/support.ts';
import { startApi, type TestApi } from '../support.ts';

let installation: Installation;
let service: TestApi;
const open: Chat[] = [];
beforeAll(async () => {
  const steps = [{ call: 'shell:run', with: { command: 'true' }, expect: { isError: true } }, { say: 'I see.' }];
  installation = await installAgents({ one: { approval: [{ tool: 'shell:run', decide: 'ask' }], steps } });
  await installation.startWorker().ready;
  service = await startApi(installation);
}, 180_000);
afterAll(async () => {
  await Promise.all(open.map((chat) => chat.close()));
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

async function waiting(): Promise<{ chat: Chat; callId: string }> {
  const chat = await installation.longshore.start({ agent: 'one', user: 'user-1', message: 'Begin.' });
  open.push(chat);
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  return { chat, callId: textIn(data, 'callId') };
}

test('an answer for one conversation is not given to a call of another one, with HTTP and without', async () => {
  const [one, other] = [await waiting(), await waiting()];
  await using remote = await service.connect();
  for (const client of [installation.longshore, remote]) {
    await expect(client.approve(one.chat.id, { callId: other.callId, answer: 'deny' })).rejects.toMatchObject({
      code: 'APPROVAL_NOT_FOUND',
      values: { callId: other.callId, conversationId: one.chat.id },
    });
  }
  expect((await other.chat.status()).pendingApprovals).toMatchObject([{ callId: other.callId }]);
  expect(await remote.approve(one.chat.id, { callId: one.callId, answer: 'deny' })).toEqual({ callId: one.callId, answer: 'deny' });
  expect(await one.chat.reply()).toBe('I see.');
}, 60_000);
