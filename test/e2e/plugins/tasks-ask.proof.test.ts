import { fileURLToPath } from 'node:url';
import type { Chat } from '../../../src/client.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { canInstall } from '../../support/python-packages.ts';
import { installAgents, until, type Installation, type ScriptedStep, type WorkerProcess } from '../support.ts';
import { withinPlugin } from './within-plugin.ts';

const MUSE = fileURLToPath(new URL('../../fixtures/plugins/maibot-asks', import.meta.url));
const ORACLE = fileURLToPath(new URL('../../fixtures/plugins/nekro-asks', import.meta.url));
const step = (given: ScriptedStep): ScriptedStep => ({ usage: { inputTokens: 1, outputTokens: 1 }, ...given });
const plugin = { say: 'High at noon.', usage: { inputTokens: 300, outputTokens: 40 } };
const withOracle = (steps: ScriptedStep[], more: object = {}) => ({
  plugins: [ORACLE],
  tools: ['code:*', 'harbour-oracle:*'],
  steps: steps.map(step),
  plugin,
  ...more,
});

let installation: Installation;
let service: TestApi;
let worker: WorkerProcess;
beforeAll(async () => {
  installation = await installAgents({
    muser: {
      plugins: [MUSE],
      tools: ['harbour.muse:*'],
      steps: [{ call: 'harbour.muse:muse', with: { question: 'The tide?' } }, { say: 'Begun.' }].map(step),
      plugin,
    },
    asker: withOracle([{ say: 'Hello.' }, { say: 'Still here.' }]),
    saver: withOracle([{ say: 'Hello.' }, { say: 'Not said before a grant.' }], { budget: { tokens: 1_000 } }),
  });
  service = await startApi(installation);
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
});

const start = (agent: string, tenant?: string) =>
  installation.longshore.start({ agent, user: 'user-1', message: 'Begin.', ...(tenant !== undefined && { tenant }) });
const used = (chat: Chat) => installation.store.taskQuestions.used(chat.id);

async function sentBy(chat: Chat): Promise<unknown[]> {
  return (await installation.store.events.read(chat.id, 0)).flatMap((event) => (event.type === 'message.sent' ? [event.data.part] : []));
}

async function linesOf(pluginId: string, count: number): Promise<string[]> {
  const file = `data${pluginId === 'harbour-oracle' ? '/plugin' : ''}/log`;
  const read = async () => (await withinPlugin(installation, pluginId, 'default', `cat ${file} 2>/dev/null || true`)).split('\n').filter((line) => line !== '');
  await until(async () => (await read()).length >= count, `${count} questions are answered`);
  return read();
}

/** Has the oracle ask at the same time, and returns what it has noted. */
async function wonder(...wishes: string[]): Promise<string[]> {
  const lines = wishes.map((wish) => `${wish}\\n`).join('');
  await withinPlugin(
    installation,
    'harbour-oracle',
    'default',
    `rm -f data/plugin/log; printf '${lines}' > data/plugin/part && mv data/plugin/part data/plugin/wishes`,
  );
  return (await linesOf('harbour-oracle', wishes.length)).toSorted();
}

((await canInstall('maibot-plugin-sdk')) ? describe : describe.skip)('a task of a plugin that is written for MaiBot, in Python', () => {
  test('it asks the model for the conversation whose call has started it, and one that nothing has started has to name one', async () => {
    const chat = await start('muser');
    expect(await chat.reply()).toBe('Begun.');
    await withinPlugin(installation, 'harbour.muse', 'default', 'touch data/go-on');
    expect(await linesOf('harbour.muse', 2)).toEqual([
      'wonder: the model is asked for a conversation, whose budget counts it, and none is known here: outside of a call, name it with stream_id=',
      "The tide?: True ['scripted/muser.yaml'] 340",
    ]);
    expect(await sentBy(chat)).toEqual([{ type: 'text', text: 'High at noon.' }]);
    expect(await used(chat)).toEqual({ inputTokens: 300, outputTokens: 40, costUsd: 0, unpricedCalls: 0 });
    await chat.close();
  }, 300_000);
});

((await canInstall('pydantic')) ? describe : describe.skip)('tasks and webhooks of a plugin that is written for Nekro Agent, in Python', () => {
  test('they ask the model for the conversation that they name, and the next step counts what they have used', async () => {
    await until(async () => (await installation.longshore.plugins.list()).some(({ id }) => id === 'harbour-oracle'), 'the worker has reported the plugin');
    const chat = await start('asker');
    expect(await chat.reply()).toBe('Hello.');
    const { path } = await installation.longshore.plugins.addWebhook('harbour-oracle', { endpoint: 'ask' });
    const post = (body: object) => fetch(service.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    await post({ chat: chat.id, question: 'The wind?' });
    await post({ question: 'The swell?' });
    expect((await linesOf('harbour-oracle', 2)).toSorted()).toEqual([
      'The swell?: the model is asked for a conversation, whose budget counts it, and none is known here: outside of a call, name it with chat_key=',
      'The wind?: 340 tokens',
    ]);
    expect(await wonder(`${chat.id} A?`, `${chat.id} B?`, '- C?')).toEqual([
      'A?: 340 tokens',
      'B?: 340 tokens',
      'C?: the model is asked for a conversation, whose budget counts it, and none is known here: outside of a call, name it with chat_key=',
    ]);
    expect(await sentBy(chat)).toHaveLength(3);
    expect((await chat.status()).tokensUsed).toBe(2);
    await chat.send('And now?');
    expect(await chat.reply()).toBe('Still here.');
    expect((await chat.status()).tokensUsed).toBe(4 + 3 * 340);
    expect((await chat.status()).usage).toMatchObject({ calls: 5, inputTokens: 902, outputTokens: 122 });
    await chat.close();
    await until(async () => (await chat.status()).state === 'closed', 'it is closed');
    expect(await wonder(`${chat.id} D?`)).toEqual([`D?: the conversation "${chat.id}" is closed`]);
  }, 300_000);

  test('their questions end with the budget, which then pauses the conversation before it asks the model itself', async () => {
    const chat = await start('saver');
    expect(await chat.reply()).toBe('Hello.');
    for (const question of ['A', 'B']) expect(await wonder(`${chat.id} ${question}`)).toEqual([`${question}: 340 tokens`]);
    expect(await wonder(`${chat.id} C`)).toEqual(['C: 340 tokens']);
    const [refused] = await wonder(`${chat.id} D`);
    expect(refused).toMatch(/^D: the question needs about \d+ tokens, and 0 of the budget of the conversation are left$/);
    await chat.send('And now?');
    await until(async () => (await chat.status()).state === 'paused', 'the budget is used up');
    expect(await chat.status()).toMatchObject({ paused: { by: 'budget', exhausted: 'tokens', limit: 1_000 }, tokensUsed: 1_022 });
    expect(await wonder(`${chat.id} E`)).toEqual([`E: the conversation "${chat.id}" is paused; ask the model when it goes on`]);
    await chat.resume({ extraTokens: 1_000 });
    expect(await chat.reply()).toBe('Not said before a grant.');
    expect(await wonder(`${chat.id} F`)).toEqual(['F: 340 tokens']);
    await chat.close();
  }, 300_000);

  test('a question that waits while no worker runs is asked by the next one, once', async () => {
    const chat = await start('asker');
    expect(await chat.reply()).toBe('Hello.');
    await worker.kill();
    const asked = `rm -f data/plugin/log; printf '${chat.id} Late?\\n' > data/plugin/part && mv data/plugin/part data/plugin/wishes`;
    await withinPlugin(installation, 'harbour-oracle', 'default', asked);
    await until(
      async () => (await withinPlugin(installation, 'harbour-oracle', 'default', 'ls .longshore-plugin')).includes('asks-plugin-'),
      'the task waits for a worker',
    );
    worker = installation.startWorker();
    await worker.ready;
    expect(await linesOf('harbour-oracle', 1)).toEqual(['Late?: 340 tokens']);
    expect(await used(chat)).toEqual({ inputTokens: 300, outputTokens: 40, costUsd: 0, unpricedCalls: 0 });
    await chat.close();
  }, 300_000);
});
