import { fileURLToPath } from 'node:url';
import type { Chat } from '../../../src/client.ts';
import { saidIn } from '../../../src/contracts/transcript.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { ownSandboxIdOf } from '../../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import { canInstall } from '../../support/python-packages.ts';
import { installAgents, resultsOf, textIn, until, type Installation, type ScriptedStep, type WorkerProcess } from '../support.ts';
import { withinPlugin } from './within-plugin.ts';

const BELL = fileURLToPath(new URL('../../fixtures/plugins/nekro-tasks', import.meta.url));
const LAMP = fileURLToPath(new URL('../../fixtures/plugins/maibot-tasks', import.meta.url));
const python = (code: string): ScriptedStep => ({ call: 'code:run', with: { language: 'python', code } });
const withBell = (steps: ScriptedStep[]) => ({ plugins: [BELL], tools: ['code:*', 'harbour-bell:*'], steps });

let installation: Installation;
let worker: WorkerProcess;
beforeAll(async () => {
  installation = await installAgents({
    ringer: withBell([
      python("print(remind(8, 'high tide'), remind(3600, 'low tide'), remind(-60 * 60, 'past'))"),
      { say: 'Set.' },
      { say: 'Rung.' },
      python('print(pending(), forget(), pending())'),
      { say: 'Forgotten.' },
    ]),
    sleeper: withBell([python("print(remind(8, 'the ferry leaves'))"), { say: 'Set.' }, { say: 'Rung.' }]),
    speaker: withBell([python("print(later('one'))"), { say: 'Begun.' }]),
    lighter: { plugins: [LAMP], tools: ['harbour.lamp:*'], steps: [{ call: 'harbour.lamp:later', with: { text: 'light' } }, { say: 'Begun.' }] },
    other: { tools: ['code:*'], steps: [{ say: 'Hello.' }] },
  });
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
});

const start = (agent: string, tenant?: string) =>
  installation.longshore.start({ agent, user: 'user-1', message: 'Begin.', ...(tenant !== undefined && { tenant }) });
const within = (pluginId: string, command: string) => withinPlugin(installation, pluginId, 'default', command);
const said = async (chat: Chat) => (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'assistant' ? [saidIn(entry)] : []));
const notesOf = async (chat: Chat) => (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
const linesOf = async (chat: Chat) => (await resultsOf(chat)).map((result) => textIn(result, 'stdout').trimEnd());
const rung = (text: string) =>
  expect.stringMatching(new RegExp(`^From harbour-bell: a timer, which was due at \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z: ${text}$`)) as string;

async function sentBy(chat: Chat): Promise<unknown[]> {
  return (await installation.store.events.read(chat.id, 0)).flatMap((event) => (event.type === 'message.sent' ? [event.data.part] : []));
}

async function startWorker(): Promise<void> {
  worker = installation.startWorker();
  await worker.ready;
}

((await canInstall('pydantic')) ? describe : describe.skip)('timers and tasks of a plugin that is written for Nekro Agent, in Python', () => {
  test('a timer that is due wakes its conversation, and one that waits is listed and cleared', async () => {
    await startWorker();
    const chat = await start('ringer');
    expect(await chat.reply()).toBe('Set.');
    await until(async () => (await said(chat)).includes('Rung.'), 'the timer has gone off');
    expect(await notesOf(chat)).toEqual([rung('high tide')]);
    await chat.send('Forget it.');
    expect(await chat.reply()).toBe('Forgotten.');
    expect(await linesOf(chat)).toEqual(['True True False', "['low tide'] True []"]);
    expect(await installation.store.pluginTimers.waiting({ pluginId: 'harbour-bell', conversationId: chat.id })).toEqual([]);
    await chat.close();
  }, 300_000);

  test('it goes off once when neither the worker nor the process of the plugin has lived so long', async () => {
    const chat = await start('sleeper');
    expect(await chat.reply()).toBe('Set.');
    await worker.kill();
    const row = await installation.store.sandboxes.get(ownSandboxIdOf('harbour-bell', 'default'));
    await runCommand('docker', ['kill', row?.containerName ?? '']);
    await startWorker();
    await until(async () => (await said(chat)).includes('Rung.'), 'the timer has gone off');
    expect(await notesOf(chat)).toEqual([rung('the ferry leaves')]);
    await chat.close();
  }, 300_000);

  test('what a task sends after its call reaches the user once, also when no worker runs as it is sent', async () => {
    const chat = await start('speaker');
    expect(await chat.reply()).toBe('Begun.');
    await worker.kill();
    await within('harbour-bell', 'touch data/plugin/go-on');
    await until(async () => (await within('harbour-bell', 'ls .longshore-plugin')).includes('asks-plugin-'), 'the task waits for a worker');
    await startWorker();
    await until(async () => (await within('harbour-bell', 'cat data/plugin/log')) === 'one: sent\n', 'the task knows that it is sent');
    expect(await sentBy(chat)).toEqual([{ type: 'text', text: 'one' }]);
    expect(await notesOf(chat)).toEqual(['harbour-bell said to the user: one']);
    await chat.close();
  }, 300_000);

  test('a task of the plugin reaches the conversations of its tenant that have it, and no others', async () => {
    const [own, foreign, other, closed] = [await start('speaker'), await start('speaker', 'another'), await start('other'), await start('speaker')];
    for (const chat of [own, foreign, other, closed]) await chat.reply();
    await closed.close();
    await until(async () => (await closed.status()).state === 'closed', 'it is closed');
    await within('harbour-bell', 'rm data/plugin/go-on data/plugin/log');
    const wishes = [`${own.id} two`, `${foreign.id} three`, `${other.id} four`, `${closed.id} five`].join('\\n');
    await within('harbour-bell', `printf '${wishes}\\n' > data/plugin/wishes.part && mv data/plugin/wishes.part data/plugin/wishes`);
    await until(async () => (await within('harbour-bell', 'cat data/plugin/log')).split('\n').length === 5, 'all is answered');
    expect((await within('harbour-bell', 'cat data/plugin/log')).trimEnd().split('\n')).toEqual([
      'two: sent',
      `three: there is no conversation "${foreign.id}"`,
      `four: the agent of the conversation "${other.id}" does not have this plugin`,
      `five: the conversation "${closed.id}" is closed`,
    ]);
    expect(await sentBy(own)).toContainEqual({ type: 'text', text: 'two' });
    expect([await sentBy(foreign), await sentBy(other)]).toEqual([[], []]);
    for (const chat of [own, foreign, other]) await chat.close();
  }, 300_000);
});

((await canInstall('maibot-plugin-sdk')) ? describe : describe.skip)('tasks of a plugin that is written for MaiBot, in Python', () => {
  test('what a task sends after its call reaches the user, unless the conversation is closed by then', async () => {
    if (!(worker as WorkerProcess | undefined)) await startWorker();
    const [chat, closed] = [await start('lighter'), await start('lighter')];
    for (const each of [chat, closed]) expect(await each.reply()).toBe('Begun.');
    await closed.close();
    await until(async () => (await closed.status()).state === 'closed', 'it is closed');
    await within('harbour.lamp', 'touch data/go-on');
    await until(async () => (await within('harbour.lamp', 'cat data/log')).split('\n').length === 3, 'both tasks have ended');
    const lines = (await within('harbour.lamp', 'cat data/log')).trimEnd().split('\n');
    expect(lines.toSorted()).toEqual(['light: True', `light: the conversation "${closed.id}" is closed`]);
    expect([await sentBy(chat), await sentBy(closed)]).toEqual([[{ type: 'text', text: 'light' }], []]);
    await chat.close();
  }, 300_000);
});
