import { fileURLToPath } from 'node:url';
import type { Chat } from '../../../src/client.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { runLine } from '../../cli/support.ts';
import { canInstall } from '../../support/python-packages.ts';
import { installAgents, resultsOf, until, type Installation, type ScriptedStep, type WorkerProcess } from '../support.ts';
import { withinPlugin } from './within-plugin.ts';

const PLUGIN = fileURLToPath(new URL('../../fixtures/plugins/maibot-hooks', import.meta.url));
const ID = 'harbour.watch';
const withSdk = (await canInstall('maibot-plugin-sdk')) ? describe : describe.skip;
const agent = (steps: ScriptedStep[], more: object = {}) => ({ plugins: [PLUGIN], tools: [`${ID}:*`], steps, ...more });
const used = { inputTokens: 1, outputTokens: 1 };
const asking = (steps: { say: string }[], more: object = {}) =>
  agent(
    steps.map((step) => ({ ...step, usage: used })),
    { plugin: { say: 'High at noon.', usage: { inputTokens: 300, outputTokens: 40 } }, ...more },
  );
const tell = { call: `${ID}:tell`, with: {} };

let installation: Installation;
let worker: WorkerProcess;
beforeAll(async () => {
  installation = await installAgents({
    listener: agent([{ say: 'Heard.' }, { say: 'Again.' }, tell, { say: 'Told.' }]),
    // A message that is stopped is answered without the model.
    guard: agent([{ say: 'Not asked.' }, { say: 'Not asked.' }, { say: 'Asked.' }]),
    speaker: agent([{ say: 'The damn tide.' }, { call: `${ID}:echo`, with: { words: 'high' } }, { say: 'Read this aloud.' }, { say: 'I never said that.' }]),
    keeper: agent([tell, { say: 'Before.' }, tell, { say: 'The damn and the rude tide.' }]),
    // What the plugin asks counts besides the steps of the agent.
    asker: asking([{ say: 'One.' }, { say: 'Two.' }]),
    saver: asking([{ say: 'One.' }], { budget: { tokens: 200 } }),
    deaf: agent([{ say: 'The damn tide.' }], { tools: [`${ID}:echo`] }),
  });
  worker = installation.startWorker();
  await worker.ready;
}, 300_000);
afterAll(() => installation?.[Symbol.asyncDispose]());

const start = (name: string, message: string) => installation.longshore.start({ agent: name, user: 'user-1', message });
const within = (command: string) => withinPlugin(installation, ID, 'default', command);
const say = async (chat: Chat, message: string) => {
  await chat.send(message);
  return chat.reply();
};

async function saidBy(chat: Chat): Promise<string[]> {
  return (await chat.transcript()).flatMap(({ entry }) =>
    entry.role === 'user' ? entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [],
  );
}

async function sentTo(chat: Chat): Promise<unknown[]> {
  return (await installation.store.events.read(chat.id, 0)).flatMap((event) => (event.type === 'message.sent' ? [event.data.part] : []));
}

withSdk('hooks and events of a plugin that is written for MaiBot', () => {
  test('messages are changed in the order of handlers before the model sees them, once', async () => {
    const chat = await start('listener', 'Open sesame');
    expect(await chat.reply()).toBe('Heard.');
    expect(await say(chat, 'More')).toBe('Again.');
    expect(await say(chat, 'Tell')).toBe('Told.');
    expect(await saidBy(chat)).toEqual(['Open *** early late heard', 'More early late heard', 'Tell early late heard']);
    const [told] = await resultsOf(chat);
    expect((told as { seen: string[] }).seen.slice(0, 3)).toEqual(['received Open *** early late', expect.stringMatching(/^asking \d+$/), 'sent Heard.']);
    expect(JSON.stringify(await installation.store.events.read(chat.id, 0))).toContain('Open sesame');
    await chat.close();
  }, 300_000);

  test('a handler is told when the budget does not suffice for its question', async () => {
    const chat = await start('saver', 'ask');
    await chat.reply();
    const [text] = await saidBy(chat);
    expect(text).toMatch(/^the question needs about \d+ tokens, and 200 of the budget of the conversation are left early late heard$/);
    await chat.close();
  }, 120_000);

  test('a message that is stopped is answered by the plugin, and the model never sees it', async () => {
    const chat = await start('guard', 'closed?');
    expect(await chat.reply()).toBe('The harbour is closed.');
    expect(await say(chat, 'broken?')).toBe('(no answer)');
    expect(await say(chat, 'open?')).toBe('Asked.');
    expect(await saidBy(chat)).toEqual([`(stopped by ${ID})`, `(stopped by ${ID})`, 'open? early late heard']);
    expect(await installation.store.usage.under(chat.id, '')).toMatchObject({ calls: 3 });
    await chat.close();
  }, 300_000);

  test('a handler that is under way when the worker is killed runs once, and its answer counts', async () => {
    const chat = await start('guard', 'wait?');
    await until(async () => (await within('cat data/log')) === 'begin\n', 'the handler has the message');
    await worker.kill();
    await within('touch data/go-on');
    worker = installation.startWorker();
    await worker.ready;
    expect(await chat.reply()).toBe('Waited.');
    expect(await within('cat data/log')).toBe('begin\nend\n');
    await chat.close();
  }, 300_000);

  test('a handler asks the model of the agent, which counts as used, also when the worker dies before the question', async () => {
    const chat = await start('asker', 'ask');
    expect(await chat.reply()).toBe('One.');
    expect((await chat.status()).tokensUsed).toBe(342);
    await chat.send('ask later?');
    await until(async () => (await within('cat data/log')).endsWith('ask\n'), 'the handler is about to ask');
    await worker.kill();
    await within('touch data/ask-now');
    worker = installation.startWorker();
    await worker.ready;
    expect(await chat.reply()).toBe('Two.');
    expect(await saidBy(chat)).toEqual(['High at noon. early late heard', 'High at noon. early late heard']);
    expect(await installation.store.usage.under(chat.id, 'plugin-step_')).toMatchObject({ calls: 2, inputTokens: 600, outputTokens: 80 });
    expect((await chat.status()).tokensUsed).toBe(684);
    await chat.close();
  }, 300_000);

  test('answers are changed before anybody sees them, and what is sent can become something else', async () => {
    const chat = await start('speaker', 'Speak');
    expect(await chat.reply()).toBe('The darn tide.');
    const deltas = (await installation.store.events.read(chat.id, 0)).flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : []));
    expect(deltas.join('')).toBe('The darn tide.');
    expect(await say(chat, 'Echo')).toBe('(voice.wav)');
    expect((await resultsOf(chat)).at(-1)).toMatchObject({ text: 'high!' });
    expect(await sentTo(chat)).toEqual([{ type: 'file', mediaType: 'audio/wav', name: 'voice.wav', data: 'UklGRg==' }]);
    expect(await say(chat, 'Deny')).toBe('(no answer)');
    await chat.close();
  }, 300_000);

  test('changed settings are given to the plugin that runs, which keeps what it has in memory', async () => {
    const chat = await start('keeper', 'Tell');
    expect(await chat.reply()).toBe('Before.');
    const before = (await resultsOf(chat)).at(-1) as JsonObject;
    expect(await runLine(installation.longshore, ['plugins', 'config', ID, '--set', 'manners.rude=rude'])).toMatchObject({ code: 0 });
    await until(async () => (await installation.longshore.plugins.get(ID)).reports[0]?.configVersion === 1, 'the setting has come');
    expect(await say(chat, 'Tell')).toBe('The damn and the darn tide.');
    const after = (await resultsOf(chat)).at(-1) as JsonObject;
    expect(after).toMatchObject({ rude: 'rude', updates: [['self', 'rude']] });
    const seen = before['seen'] as string[];
    expect((after['seen'] as string[]).slice(0, seen.length)).toEqual(seen);
    await chat.close();
  }, 300_000);

  test('only what the agent names takes part', async () => {
    const chat = await start('deaf', 'closed?');
    expect(await chat.reply()).toBe('The damn tide.');
    expect(await saidBy(chat)).toEqual(['closed?']);
    await chat.close();
  }, 300_000);

  test('plugins check lists what takes part, and names what no conversation has a use for', async () => {
    const { code, out } = await runLine(undefined, ['plugins', 'check', PLUGIN], { environment: installation.environment });
    expect(code).toBe(0);
    expect(out).toContain(`\n${ID}:hook.gate (tool, hidden, own)\n`);
    expect(out).toContain('warning: Its handler hook.emoji of emoji.maisaka.before_select is not run: it belongs to a bot of MaiBot, and there is none\n');
  }, 120_000);
});
