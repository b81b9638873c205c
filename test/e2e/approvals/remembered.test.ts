import { connect, type Chat } from '../../../src/client.ts';
import { startApi } from '../../api/support.ts';
import { runLine } from '../../cli/support.ts';
import { install, textIn, until, untilEvent, type Installation } from '../support.ts';

/** Tools that a person has allowed for the rest of a conversation: listed, and taken back. */
let installation: Installation;
beforeAll(async () => {
  const run = { call: 'shell:run', with: { command: 'true' } };
  const done = { say: 'Done.' };
  installation = await install([run, done, run, done, run, done, run, done], { approval: [{ tool: 'shell:run', decide: 'ask' }] });
  await installation.startWorker().ready;
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

async function untilAsked(chat: Chat, count: number): Promise<string> {
  let seen = 0;
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested' && ++seen === count);
  return textIn(data, 'callId');
}
async function say(chat: Chat): Promise<void> {
  const { turnId } = await chat.send('Again.');
  expect(await chat.reply(turnId)).toBe('Done.');
}

test('an allowance is in the status, ends when it is revoked, and both clients and the command line do so', async () => {
  const { longshore, environment } = installation;
  await using service = await startApi(installation);
  const key = (await service.key(['conversations:read', 'approvals:resolve'])).authorization.slice('Bearer '.length);
  await using remote = await connect({ url: service.url, apiKey: key });
  const cli = (...words: string[]) => runLine(longshore, ['approvals', ...words], { environment });

  const chat = await longshore.start({ agent: 'scripted', user: 'ann', message: 'Begin.' });
  const callId = await untilAsked(chat, 1);
  await chat.approve({ callId, answer: 'allow', by: 'ada' });
  expect(await chat.reply()).toBe('Done.');
  const remembered = { tool: 'shell:run', callId, by: 'ada', at: expect.stringMatching(/^20/) };
  for (const one of [longshore, remote]) {
    await until(async () => (await one.status(chat)).allowedTools !== undefined, 'the status says so');
    expect((await one.status(chat)).allowedTools).toEqual([remembered]);
  }
  expect(JSON.parse((await cli('remembered', '--json')).out)).toEqual([
    { conversationId: chat.id, agent: 'scripted', user: 'ann', tenant: 'default', ...remembered },
  ]);
  expect((await cli('remembered', chat.id)).out).toMatch(/shell:run +ada +20.*call_/);
  // The next call of the tool is not asked about.
  await say(chat);

  expect(await remote.revokeAllowed(chat.id, 'shell:run', { by: 'bob' })).toEqual({ tool: 'shell:run', revoked: true });
  expect((await chat.status()).allowedTools).toBeUndefined();
  expect(await chat.revokeAllowed('shell:run')).toEqual({ tool: 'shell:run', revoked: false });
  expect((await untilEvent(chat, ({ type }) => type === 'tool.approval-revoked')).data).toEqual({ tool: 'shell:run', by: 'bob' });
  const asked = chat.send('Again.');
  const next = await untilAsked(chat, 2);
  await chat.approve({ callId: next, answer: 'allow' });
  expect(await chat.reply((await asked).turnId)).toBe('Done.');
  expect((await cli('revoke', chat.id, 'shell:run', '--by', 'ada')).out).toBe('shell:run asks again from now on.\n');
  expect((await cli('remembered')).out).toBe('No tool is allowed for the rest of a conversation.\n');
  const last = chat.send('Again.');
  await chat.approve({ callId: await untilAsked(chat, 3), answer: 'allow-once' });
  expect(await chat.reply((await last).turnId)).toBe('Done.');

  const { entries } = await longshore.audit.list({ action: 'approval.revoke' });
  expect(entries.map(({ actor, target, details }) => [actor.kind, target, details])).toEqual(
    ['login', 'login', 'key'].map((kind) => [kind, chat.id, { tool: 'shell:run' }]),
  );
  await expect(longshore.revokeAllowed('conv_none', 'shell:run')).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  await chat.close();
  await until(async () => (await chat.status()).state === 'closed', 'it is closed');
  await expect(chat.revokeAllowed('shell:run')).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
}, 120_000);
