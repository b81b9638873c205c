import { MAX_MESSAGE_LENGTH } from '../../src/contracts/conversation.ts';
import { install, resultsOf, untilEvent, type Installation } from './support.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await install(
    [
      { calls: [{ call: 'nope:tool' }, { call: 'shell:run', with: { command: 7 } }, { call: 'shell:run', with: { command: 'true', colour: 'red' } }] },
      { call: 'shell:run', with: { command: 'echo approved' } },
      { say: 'Done.' },
      { say: 'One message.' },
    ],
    { approval: [{ tool: 'shell:run', decide: 'ask' }] },
  );
  await installation.startWorker().ready;
}, 60_000);
afterAll(() => installation[Symbol.asyncDispose](), 60_000);

test('an unknown agent is refused before anything starts', async () => {
  const { longshore } = installation;
  await expect(longshore.start({ agent: 'nobody', user: 'user-1' })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
  expect(await longshore.list()).toEqual([]);
});

test('bad input is a clear error each time, and the conversation loses nothing by it', async () => {
  const { longshore } = installation;
  const chat = await longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  const callId = String(data['callId']);

  await expect(chat.send('x'.repeat(MAX_MESSAGE_LENGTH + 1))).rejects.toMatchObject({ code: 'MESSAGE_INVALID' });
  await expect(chat.approve({ callId, answer: 'allow-once', hash: 'another' })).rejects.toMatchObject({ code: 'APPROVAL_MISMATCH' });
  await expect(chat.approve({ callId: 'call_none', answer: 'allow-once', hash: 'another' })).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
  const hash = String(data['hash']);
  await chat.approve({ callId, answer: 'allow-once', hash });
  await expect(chat.approve({ callId, answer: 'allow-once', hash })).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });

  expect(await chat.reply()).toBe('Done.');
  const [unknownTool, wrongType, unknownKey, approved] = await resultsOf(chat);
  expect(unknownTool).toMatchObject({ isError: true, text: expect.stringContaining('Unknown tool "nope:tool"') as string });
  expect(wrongType).toMatchObject({ isError: true, text: expect.stringContaining('/command: expected string, got number') as string });
  expect(unknownKey).toMatchObject({ isError: true, text: expect.stringContaining('/colour') as string });
  expect(approved).toMatchObject({ exitCode: 0, stdout: 'approved\n' });

  const sent = await chat.send('Once.', { messageId: 'msg_once' });
  const again = await chat.send('Once.', { messageId: 'msg_once' });
  expect(sent).toMatchObject({ duplicate: false });
  expect(again).toMatchObject({ turnId: sent.turnId });
  expect(await chat.reply(sent.turnId)).toBe('One message.');
  expect((await chat.transcript()).filter(({ entry }) => entry.role === 'user')).toHaveLength(2);
  await chat.close();
}, 120_000);
