import { runCommand } from '../../src/platform/run-command.ts';
import type { Chat } from '../../src/client.ts';
import { installAgents, resultsOf, untilEvent, type Installation } from './support.ts';

let installation: Installation;

/** Leaves a child in the group of the command and one in a session of its own. */
const hang = { call: 'shell:run', with: { command: 'echo begun; sleep 3000 & setsid sleep 3000 & wait', timeoutSeconds: 3600 } };
const count = { call: 'shell:run', with: { command: 'cat /proc/[0-9]*/comm 2>/dev/null | grep -cx sleep' } };
const waits = { call: 'shell:run', with: { command: 'echo begun; until [ -e go ]; do sleep 0.05; done; echo passed' } };

beforeAll(async () => {
  installation = await installAgents({
    interrupted: { steps: [hang, count, { say: 'Counted.' }] },
    paused: { steps: [waits, { call: 'shell:run', with: { command: 'echo second' } }, { say: 'Done.' }] },
    closed: { steps: [hang, { say: 'Never said.' }] },
  });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

/** A conversation whose first command is under way. */
async function begin(agent: string): Promise<Chat> {
  const chat = await installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });
  await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('begun'));
  return chat;
}

async function sandboxOf(chat: Chat): Promise<{ containerName: string; volumeName: string }> {
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  if (!row) throw new Error('the conversation has no sandbox');
  return row;
}

test('an interruption in mid-command ends its whole tree and the turn, keeps its output, and the queue goes on', async () => {
  const chat = await begin('interrupted');
  const first = expect(chat.reply()).rejects.toMatchObject({ code: 'TURN_FAILED', values: { outcome: 'interrupted' } });
  const { turnId } = await chat.send('Count.');
  await chat.interrupt();
  await first;
  expect(await chat.reply(turnId)).toBe('Counted.');
  const [interrupted, counted] = await resultsOf(chat);
  expect(interrupted).toMatchObject({ isError: true });
  expect(interrupted?.['text']).toMatch(/Interrupted on request.*begun/s);
  expect(counted).toMatchObject({ stdout: '0\n' });
  expect((await chat.transcript()).map(({ entry }) => entry.role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant', 'tool', 'assistant']);
  await chat.close();
}, 300_000);

test('a pause lets the running step end and starts nothing more until the conversation is resumed', async () => {
  const chat = await begin('paused');
  await chat.pause();
  await runCommand('docker', ['exec', '--user', 'user', (await sandboxOf(chat)).containerName, 'touch', '/home/user/go']);
  await untilEvent(chat, ({ type }) => type === 'conversation.paused');
  expect(await resultsOf(chat)).toMatchObject([{ exitCode: 0, stdout: 'begun\npassed\n' }]);
  expect(await chat.status()).toMatchObject({ state: 'paused', runningCalls: [] });
  await chat.resume();
  expect(await chat.reply()).toBe('Done.');
  expect(await resultsOf(chat)).toMatchObject([{ stdout: 'begun\npassed\n' }, { stdout: 'second\n' }]);
  const events = await installation.store.events.read(chat.id, 0);
  const types = events.map(({ type }) => type);
  expect(types.lastIndexOf('tool.started')).toBeGreaterThan(types.indexOf('conversation.resumed'));
  await chat.close();
}, 300_000);

test('a conversation closed in mid-command leaves no container, no volume and no open call', async () => {
  const chat = await begin('closed');
  const { containerName, volumeName } = await sandboxOf(chat);
  await chat.close();
  for await (const _ of chat.events());
  expect(await chat.status()).toMatchObject({ state: 'closed', sandboxTier: 'destroyed', runningCalls: [] });
  expect(await installation.containers()).not.toContain(containerName);
  const { stdout } = await runCommand('docker', ['volume', 'ls', '--quiet', '--filter', `name=${volumeName}`]);
  expect(stdout).toBe('');
  expect((await resultsOf(chat))[0]?.['text']).toMatch(/Interrupted on request.*begun/s);
}, 300_000);
