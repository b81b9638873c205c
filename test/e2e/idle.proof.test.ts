import type { Chat, ConversationStatus } from '../../src/client.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { installAgents, resultsOf, until, type Installation } from './support.ts';

let installation: Installation;

const background = { call: 'shell:run', with: { command: 'echo $$ > pid; echo kept > file; exec sleep 3600', background: true } };
const untilWritten = { call: 'shell:run', with: { command: 'until [ -s pid ] && [ -s file ]; do sleep 0.05; done' } };
// By its name: a new container counts its processes from the start again.
const look = { call: 'shell:run', with: { command: 'grep -qx sleep /proc/$(cat pid)/comm && echo alive || echo gone; cat file' } };
const steps = [background, untilWritten, { say: 'Started.' }, look, { say: 'Looked.' }];

beforeAll(async () => {
  installation = await installAgents({
    freezing: { sandbox: { idle: { freeze: '300ms' } }, steps },
    stopping: { sandbox: { idle: { freeze: '200ms', stop: '1s' } }, steps },
    hibernating: { sandbox: { idle: { freeze: '200ms', hibernate: '1s' } }, steps },
    awake: { sandbox: { idle: { freeze: 0 } }, steps },
  });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

async function startAndWait(agent: string, tier: ConversationStatus['sandboxTier']): Promise<Chat> {
  const chat = await installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });
  expect(await chat.reply()).toBe('Started.');
  await until(async () => (await chat.status()).sandboxTier === tier, `the sandbox is ${tier}`);
  return chat;
}

/** What the engine says of the conversation's container. */
async function engineState(chat: Chat): Promise<string> {
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  const { stdout } = await runCommand('docker', ['inspect', '--format', '{{.State.Status}}', row?.containerName ?? '']);
  return stdout.trim();
}

async function tiers(chat: Chat): Promise<unknown[]> {
  const events = await installation.store.events.read(chat.id, 0);
  return events.flatMap(({ type, data }) => (type === 'sandbox.changed' ? [data['tier']] : []));
}

async function ask(chat: Chat): Promise<unknown> {
  await chat.send('Look.');
  expect(await chat.reply()).toBe('Looked.');
  return (await resultsOf(chat)).at(-1)?.['stdout'];
}

test('an idle sandbox is frozen, and the next message finds its processes where they were', async () => {
  const chat = await startAndWait('freezing', 'frozen');
  await until(async () => (await engineState(chat)) === 'paused', 'its container is paused');
  expect(await ask(chat)).toBe('alive\nkept\n');
  await until(async () => (await chat.status()).sandboxTier === 'frozen', 'it is frozen again');
  expect(await tiers(chat)).toEqual(['running', 'frozen', 'running', 'frozen']);
  await chat.close();
});

const where = process.env['LONGSHORE_TEST_GVISOR'] === 'yes';
(where ? test : test.skip)('a sandbox idle for longer is hibernated: it uses no memory, and the next message finds its processes where they were', async () => {
  const chat = await startAndWait('hibernating', 'hibernated');
  // The row says so first; writing the memory to disk takes a moment.
  await until(async () => (await engineState(chat)) === 'exited', 'its container has ended');
  expect(await ask(chat)).toBe('alive\nkept\n');
  expect((await tiers(chat)).slice(0, 4)).toEqual(['running', 'frozen', 'hibernated', 'running']);
  await chat.close();
});

test('a sandbox idle for longer is stopped: the next message finds its files, and no processes', async () => {
  const chat = await startAndWait('stopping', 'stopped');
  // The row says so first; ending the container takes a moment.
  await until(async () => !/running|paused/.test(await engineState(chat)), 'its container has ended');
  expect(await ask(chat)).toBe('gone\nkept\n');
  expect((await tiers(chat)).slice(0, 4)).toEqual(['running', 'frozen', 'stopped', 'running']);
  await chat.close();
});

test('a frozen or stopped sandbox of a closed conversation is destroyed', async () => {
  const chats = [await startAndWait('freezing', 'frozen'), await startAndWait('stopping', 'stopped')];
  for (const chat of chats) {
    await chat.close();
    for await (const _ of chat.events());
    expect(await chat.status()).toMatchObject({ state: 'closed', sandboxTier: 'destroyed' });
  }
  const names = await Promise.all(chats.map(async (chat) => (await installation.store.sandboxes.ofConversation(chat.id))?.containerName));
  const left = await installation.containers();
  for (const name of names) expect(left).not.toContain(name);
});

test('a sandbox that is never to be frozen stays awake', async () => {
  const frozen = startAndWait('freezing', 'frozen');
  const chat = await startAndWait('awake', 'running');
  await (await frozen).close();
  expect(await engineState(chat)).toBe('running');
  expect(await tiers(chat)).toEqual(['running']);
  await chat.close();
});
