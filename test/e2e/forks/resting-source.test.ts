import type { Chat } from '../../../src/client.ts';
import { installAgents, until, untilEvent, type Installation } from '../support.ts';

/** Forks that outlive their source. */
let installation: Installation;

beforeAll(async () => {
  const steps = ['one', 'two', 'three'].flatMap((text) => [
    { call: 'shell:run', with: { command: `cat notes 2>/dev/null; echo ${text} > notes` } },
    { say: `Wrote ${text}.` },
  ]);
  installation = await installAgents({
    stopping: { sandbox: { idle: { freeze: '200ms', stop: '400ms' } }, steps },
    archiving: { sandbox: { idle: { freeze: '200ms', stop: '400ms', archive: '600ms' } }, steps },
  });
  await installation.startWorker().ready;
}, 180_000);
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
}, 180_000);

async function say(chat: Chat, text: string): Promise<string> {
  const { turnId } = await chat.send(text);
  return chat.reply(turnId);
}
async function lastOutput(chat: Chat): Promise<unknown> {
  const last = (await chat.transcript()).findLast(({ entry }) => entry.role === 'tool')?.entry;
  const [part] = last?.role === 'tool' ? last.content : [];
  return part?.type === 'text' ? (JSON.parse(part.text) as { stdout: string }).stdout : undefined;
}

test.each([
  ['stopping', 'stopped'],
  ['archiving', 'archived'],
] as const)(
  'a fork of the agent %s, whose sandbox is %s, outlives its source',
  async (agent, tier) => {
    const chat = await installation.longshore.start({ agent, user: 'user-1', message: 'Go.' });
    await chat.reply();
    await until(async () => (await chat.status()).sandboxTier === tier, `it is ${tier}`);
    const fork = await chat.fork();
    await untilEvent(fork, ({ type }) => type === 'fork.ready');
    expect(await say(fork, 'Else.')).toBe('Wrote two.');
    expect(await lastOutput(fork)).toBe('one\n');
    // The history of the fork remains when its source is removed.
    await chat.close();
    for await (const _ of chat.events());
    expect(await installation.store.removal.begin(chat.id)).toBe(true);
    expect(await installation.store.removal.finish(chat.id)).toBe(true);
    expect(await say(fork, 'On.')).toBe('Wrote three.');
    expect((await fork.transcript()).filter(({ entry }) => entry.role === 'user').length).toBe(3);
  },
  120_000,
);
