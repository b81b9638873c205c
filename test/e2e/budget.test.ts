import type { Chat, ConversationEvent } from '../../src/client.ts';
import { installAgents, resultsOf, until, untilEvent, type Installation } from './support.ts';

let installation: Installation;

const mark = (name: string) => ({ call: 'shell:run', with: { command: `echo ${name} >> log; cat log` } });

beforeAll(async () => {
  installation = await installAgents({
    turns: { budget: { turns: 1 }, steps: [{ say: 'One.' }, { say: 'Two.' }] },
    steps: { budget: { steps: 2 }, steps: [mark('a'), mark('b'), mark('c'), { say: 'Done.' }, { say: 'And again.' }] },
    tokens: { budget: { tokens: 100 }, steps: [{ ...mark('a'), usage: { inputTokens: 90, outputTokens: 20 } }, { say: 'Done.' }] },
    // The first step of a turn takes longer than this.
    time: { budget: { wallTime: '1ms' }, steps: [mark('a'), { say: 'Done.' }] },
  });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });

/** Waits for the n-th time that the conversation pauses, and gives why it says it did. */
async function untilPaused(chat: Chat, count = 1): Promise<ConversationEvent['data']> {
  let seen = 0;
  const { data } = await untilEvent(chat, ({ type }) => type === 'conversation.paused' && ++seen === count);
  await until(async () => (await chat.status()).state === 'paused', 'the status says that it is paused');
  return data;
}

async function exhausted(chat: Chat): Promise<ConversationEvent['data'][]> {
  return (await installation.store.events.read(chat.id, 0)).flatMap(({ type, data }) => (type === 'budget.exhausted' ? [data] : []));
}

test('a message beyond the turns waits in a paused conversation until turns are granted', async () => {
  const chat = await start('turns');
  expect(await chat.reply()).toBe('One.');
  await chat.send('Again.');
  expect(await untilPaused(chat)).toEqual({ by: 'budget', exhausted: 'turns', limit: 1 });
  expect(await chat.status()).toMatchObject({ paused: { by: 'budget', exhausted: 'turns', limit: 1 }, queued: 1, turnsUsed: 1 });
  expect(await exhausted(chat)).toEqual([{ exhausted: 'turns', limit: 1 }]);
  await chat.resume({ extraTurns: 1 });
  expect(await chat.reply()).toBe('Two.');
  await chat.close();
});

test('a turn that used its steps pauses between two of them; resuming grants as many again, for that turn', async () => {
  const chat = await start('steps');
  expect(await untilPaused(chat)).toEqual({ by: 'budget', exhausted: 'steps', limit: 2 });
  expect((await resultsOf(chat)).map((result) => result['stdout'])).toEqual(['a\n', 'a\nb\n']);
  await chat.resume();
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat)).at(-1)).toMatchObject({ stdout: 'a\nb\nc\n' });
  await chat.send('Again.');
  expect(await chat.reply()).toBe('And again.');
  await chat.close();
});

test('used tokens pause the conversation as often as it is resumed without enough of a grant', async () => {
  const chat = await start('tokens');
  expect(await untilPaused(chat)).toEqual({ by: 'budget', exhausted: 'tokens', limit: 100 });
  expect(await chat.status()).toMatchObject({ tokensUsed: 110 });
  await chat.resume({ extraTokens: 5 });
  expect(await untilPaused(chat, 2)).toEqual({ by: 'budget', exhausted: 'tokens', limit: 105 });
  await chat.resume({ extraTokens: 1_000_000 });
  expect(await chat.reply()).toBe('Done.');
  expect(await exhausted(chat)).toHaveLength(2);
  await chat.close();
});

test('used working time pauses the conversation until time is granted', async () => {
  const chat = await start('time');
  expect(await untilPaused(chat)).toEqual({ by: 'budget', exhausted: 'wallTime', limit: 1 });
  expect((await chat.status()).workedMs).toBeGreaterThanOrEqual(1);
  await chat.resume();
  expect(await untilPaused(chat, 2)).toEqual({ by: 'budget', exhausted: 'wallTime', limit: 1 });
  await chat.resume({ extraWallTimeMs: 3_600_000 });
  expect(await chat.reply()).toBe('Done.');
  await chat.close();
});
