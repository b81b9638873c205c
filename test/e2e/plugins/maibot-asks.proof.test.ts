import { fileURLToPath } from 'node:url';
import type { Chat } from '../../../src/client.ts';
import { runLine } from '../../cli/support.ts';
import { canInstall } from '../../support/python-packages.ts';
import { installAgents, resultsOf, until, type Installation, type WorkerProcess } from '../support.ts';
import { withinPlugin } from './within-plugin.ts';

const PLUGIN = fileURLToPath(new URL('../../fixtures/plugins/maibot-original', import.meta.url));
const ID = 'harbour.tides';
const withSdk = (await canInstall('maibot-plugin-sdk')) ? describe : describe.skip;
const answer = { say: 'High at noon.', usage: { inputTokens: 300, outputTokens: 40 } };
const agent = (steps: object[], more: object = {}) => ({
  plugins: [PLUGIN],
  tools: [`${ID}:*`],
  steps: steps.map((step) => ({ usage: { inputTokens: 1, outputTokens: 1 }, ...step })) as never[],
  plugin: answer,
  ...more,
});
const call = (tool: string, given: object = {}) => ({ call: `${ID}:${tool}`, with: given });

let installation: Installation;
let worker: WorkerProcess;
beforeAll(async () => {
  installation = await installAgents({
    thinker: agent([call('think'), { say: 'Thought.' }]),
    waiter: agent([call('wait', { line: 'a' }), call('think', { after: 'asked' }), { say: 'Thought.' }]),
    saver: agent([call('think', { times: 4 }), { say: 'Saved.' }], { budget: { tokens: 1_200 } }),
    chooser: agent([call('choose'), { say: 'Chosen.' }], { plugin: { ...answer, call: 'tide', with: { harbour: 'north' } } }),
    // A turn of a command has two answers, of which the script knows nothing.
    commander: agent([...Array.from({ length: 8 }, () => ({ say: 'Not asked.' })), { say: 'Asked.' }, { say: 'Asked again.' }]),
    guarded: agent([{ say: 'Not asked.' }, { say: 'Not asked.' }], { approval: [{ tool: `${ID}:command.tide`, decide: 'deny' }] }),
    teller: agent([call('recall'), call('voice'), { say: 'Told.' }]),
  });
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(() => installation?.[Symbol.asyncDispose]());

const start = (name: string, message = 'Begin.') => installation.longshore.start({ agent: name, user: 'user-1', message });
const usageOf = (chat: Chat) => installation.store.usage.under(chat.id, 'plugin-');

const within = (command: string) => withinPlugin(installation, ID, 'default', command);

withSdk('what a plugin for MaiBot asks of the conversation that has called it', () => {
  test('it asks the model of the agent, which counts as used by the conversation', async () => {
    const chat = await start('thinker');
    expect(await chat.reply()).toBe('Thought.');
    const [replies] = await resultsOf(chat);
    expect(replies).toEqual([
      {
        success: true,
        response: 'High at noon.',
        reasoning: '',
        model: 'scripted/thinker.yaml',
        model_name: 'scripted/thinker.yaml',
        tool_calls: [],
        prompt_tokens: 300,
        completion_tokens: 40,
        total_tokens: 340,
      },
    ]);
    expect(await usageOf(chat)).toMatchObject({ calls: 1, inputTokens: 300, outputTokens: 40 });
    // Two steps of two tokens, and what the plugin has used.
    expect((await chat.status()).tokensUsed).toBe(344);
    await chat.close();
  }, 300_000);

  test('it is told when the budget of the conversation is used up', async () => {
    const chat = await start('saver');
    expect(await chat.reply()).toBe('Saved.');
    const [replies] = (await resultsOf(chat)) as unknown as { success: boolean; error?: string }[][];
    expect(replies?.map(({ success }) => success)).toEqual([true, true, true, false]);
    expect(replies?.at(-1)?.error).toMatch(/^the question needs about \d+ tokens, and 178 of the budget of the conversation are left$/);
    expect((await chat.status()).tokensUsed).toBe(3 * 340 + 4);
    await chat.close();
  }, 120_000);

  test('the model may choose among tools that the plugin names', async () => {
    const chat = await start('chooser');
    expect(await chat.reply()).toBe('Chosen.');
    expect((await resultsOf(chat))[0]).toMatchObject({
      models: ['replyer', 'planner', 'utils', 'tool_use', 'scripted/chooser.yaml'],
      reply: { response: 'High at noon.', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'tide', arguments: { harbour: 'north' } } }] },
    });
    await chat.close();
  }, 120_000);

  test('a question that is asked while no worker runs is answered by the next one, once', async () => {
    const chat = await start('waiter');
    await until(async () => (await within('cat data/log')).endsWith('begin a\n'), 'the plugin has the first call');
    await within('touch data/go-on');
    await until(async () => (await within('cat data/log')).endsWith('asks\n'), 'the plugin has the second call');
    await worker.kill();
    await within('touch data/asked');
    worker = installation.startWorker();
    await worker.ready;
    expect(await chat.reply()).toBe('Thought.');
    expect(await resultsOf(chat)).toMatchObject([{ text: 'wrote a' }, [{ success: true, response: 'High at noon.' }]]);
    expect((await within('cat data/log')).match(/asks\nknows\n$/)).not.toBeNull();
    expect(await usageOf(chat)).toMatchObject({ calls: 1 });
    expect((await chat.status()).tokensUsed).toBe(346);
    await chat.close();
  }, 300_000);

  test('a message that is a command is answered by the plugin, without a model', async () => {
    const chat = await start('commander', '/tide');
    expect(await chat.reply()).toBe('high');
    const say = async (message: string) => {
      await chat.send(message);
      return chat.reply();
    };
    expect(await say('/say  High at noon')).toBe('High at noon!');
    expect(await say('!say low')).toBe('low!');
    expect(await say('/fail')).toBe('The harbour is closed.');
    expect((await chat.status()).tokensUsed).toBe(0);
    expect(await installation.store.usage.under(chat.id, '')).toMatchObject({ calls: 8, inputTokens: 0, costUsd: 0 });
    const sent = (await installation.store.events.read(chat.id, 0)).filter(({ type }) => type === 'message.sent');
    expect(sent).toEqual([]);
    expect(await say('What about /tide?')).toBe('Asked.');
    const begun = performance.now();
    expect(await say('a'.repeat(3_000))).toBe('Asked again.');
    expect(performance.now() - begun).toBeLessThan(20_000);
    await chat.close();
  }, 120_000);

  test('a command needs the approvals that its agent asks for', async () => {
    const chat = await start('guarded', '/tide');
    expect(await chat.reply()).toBe(`Denied by policy: rule 1 of the agent: ${ID}:command.tide is denied`);
    await chat.close();
    const closer = await start('guarded', '/close');
    await until(async () => (await closer.status()).pendingApprovals.length === 1, 'an operator is asked');
    await closer.close();
  }, 120_000);

  test('it reads its own conversation, sends what can be shown, and is told settings of the bot that an operator has set', async () => {
    expect(await runLine(installation.longshore, ['plugins', 'config', ID, '--set', 'bot.nickname=Mai'])).toMatchObject({ code: 0 });
    await until(async () => (await installation.longshore.plugins.get(ID)).reports[0]?.configVersion === 1, 'the setting has come');
    const chat = await start('teller', 'Is it high?');
    expect(await chat.reply()).toBe('Told.');
    expect(await resultsOf(chat)).toEqual([{ readable: 'user-1: Is it high?', stream: true, same: true, group: null }, { nickname: 'Mai' }]);
    const sent = (await installation.store.events.read(chat.id, 0)).flatMap((event) => (event.type === 'message.sent' ? [event.data.part] : []));
    expect(sent).toEqual([
      { type: 'file', mediaType: 'audio/wav', name: 'voice.wav', data: 'UklGRg==' },
      { type: 'text', text: 'Ada: High.' },
    ]);
    await chat.close();
  }, 120_000);
});
