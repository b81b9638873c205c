import { installAgents, type Installation } from '../support.ts';

const KEPT = 2;
const CONVERSATIONS = 6;

let installation: Installation;
beforeAll(async () => {
  installation = await installAgents({ speaker: { steps: [{ say: 'First.' }, { say: 'Second.' }, { say: 'Third.' }] } });
  installation.environment['LONGSHORE_CACHED_CONVERSATIONS'] = String(KEPT);
  await installation.startWorker().ready;
});
afterAll(async () => installation[Symbol.asyncDispose]());

test('a worker goes on with more conversations than it keeps in its memory, at the same time and in turn', async () => {
  const chats = await Promise.all(
    Array.from({ length: CONVERSATIONS }, () => installation.longshore.start({ agent: 'speaker', user: 'user-1', message: 'One.' })),
  );
  expect(await Promise.all(chats.map((chat) => chat.reply()))).toEqual(chats.map(() => 'First.'));
  await Promise.all(chats.map((chat) => chat.send('Two.')));
  expect(await Promise.all(chats.map((chat) => chat.reply()))).toEqual(chats.map(() => 'Second.'));
  for (const chat of chats) {
    const { turnId } = await chat.send('Three.');
    expect(await chat.reply(turnId)).toBe('Third.');
  }
});
