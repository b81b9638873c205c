import { Client } from 'pg';
import type { LeftForPlugins } from '../../../src/contracts/usage.ts';
import type { AskedByTask, AskingPlace, Attempt } from '../../../src/store/service/task-questions.ts';
import type { Store } from '../../../src/store/store.ts';
import { newConversation, useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const MOST = { inputTokens: 100, outputTokens: 400, costUsd: 2 };
const USED = { inputTokens: 90, outputTokens: 10, costUsd: 0.5 };
const about = async (questionId = 'a', pluginId = 'tides', conversationId?: string): Promise<AskedByTask> => ({
  conversationId: conversationId ?? (await newConversation(store)),
  turnId: 'turn_1',
  pluginId,
  questionId,
});
const reserve = (question: AskedByTask, usage = MOST) => store.taskQuestions.reserve(question, 'a/model', () => usage) as Promise<Attempt>;
async function placeOf(question: AskedByTask): Promise<AskingPlace> {
  const found: AskingPlace[] = [];
  const looking = store.taskQuestions.reserve(question, 'a/model', (place) => {
    found.push(place);
    throw new Error('only looking');
  });
  await expect(looking).rejects.toThrow('only looking');
  return found[0]!;
}
async function change(what: string, conversationId: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query(`update model_calls set ${what} where conversation_id = $1`, [conversationId]);
  await client.end();
}
const lapse = (conversationId: string) => change("held_until = now() - interval '1 second'", conversationId);

test('a question counts as the most that it may use until it is answered, and then as what it has used', async () => {
  const question = await about();
  const { conversationId } = question;
  const attempt = await reserve(question);
  expect((await placeOf({ ...question, questionId: 'b' })).used).toMatchObject({ calls: 1, ...MOST });
  // The workflow does not stop for what may not be used in the end.
  expect(await store.taskQuestions.used(conversationId)).toBeUndefined();
  expect(await store.taskQuestions.settle(attempt, USED)).toBe(true);
  expect((await placeOf({ ...question, questionId: 'b' })).used).toMatchObject({ calls: 1, ...USED });
  expect(await store.taskQuestions.used(conversationId)).toEqual({ ...USED, unpricedCalls: 0 });
  expect((await store.conversations.get(conversationId))?.status.usage).toMatchObject({ calls: 1, ...USED });
});

test('a question that another worker asks, or has just answered, is not asked again; one whose worker has ended is, and both attempts count', async () => {
  const question = await about();
  const { conversationId } = question;
  const first = await reserve(question);
  expect(await reserve(question)).toBe('held');
  await lapse(conversationId);
  const second = await reserve(question);
  expect(second.id).not.toBe(first.id);
  await store.taskQuestions.settle(second, USED);
  expect(await reserve(question)).toBe('held');
  expect(await store.taskQuestions.used(conversationId)).toEqual({ inputTokens: 190, outputTokens: 410, costUsd: 2.5, unpricedCalls: 0 });
  await lapse(conversationId);
  await store.taskQuestions.hold(first);
  expect(await reserve(question)).toBe('held');
});

test('questions of a conversation are decided about one after the other, so that each knows what those before may use', async () => {
  const { conversationId } = await about();
  const known: number[] = [];
  const asking = Array.from({ length: 6 }, (_, number) => about(`q${number}`, 'tides', conversationId));
  await Promise.all(
    (await Promise.all(asking)).map((question) =>
      store.taskQuestions.reserve(question, 'a/model', ({ used }) => {
        known.push(used.outputTokens);
        return MOST;
      }),
    ),
  );
  expect(known).toEqual([0, 400, 800, 1_200, 1_600, 2_000]);
});

test('the questions of a plugin within an hour are told, not those of another one or of another conversation', async () => {
  const question = await about();
  await reserve(question);
  await reserve({ ...question, questionId: 'b' });
  await reserve({ ...question, pluginId: 'tides-2' });
  await reserve(await about());
  expect(await placeOf({ ...question, questionId: 'c' })).toMatchObject({ state: 'idle', asked: 2, used: { calls: 3 } });
  await change("at = now() - interval '61 minutes'", question.conversationId);
  expect((await placeOf({ ...question, questionId: 'c' })).asked).toBe(0);
});

test('what the workflow says of the budget is read, and shown to nobody', async () => {
  const question = await about();
  const { conversationId } = question;
  expect(await placeOf(question)).not.toHaveProperty('mayUse');
  const { status } = (await store.conversations.get(conversationId))!;
  const saved: typeof status & Pick<LeftForPlugins, 'tasksMayUse'> = { ...status, tasksMayUse: { tokens: 5, costUsd: 0.25 } };
  await store.conversations.saveStatus(saved, []);
  expect((await placeOf(question)).mayUse).toEqual({ tokens: 5, costUsd: 0.25 });
  expect((await store.conversations.get(conversationId))?.status).not.toHaveProperty('tasksMayUse');
});

test('a question that was not answered counts nothing, and one of a removed conversation is said to be gone', async () => {
  const question = await about();
  const attempt = await reserve(question);
  await store.taskQuestions.drop(attempt);
  expect(await store.taskQuestions.used(question.conversationId)).toBeUndefined();
  expect(await store.taskQuestions.settle(attempt, USED)).toBe(false);
  expect(await reserve({ ...question, conversationId: 'conv_unknown' })).toBe('gone');
});
