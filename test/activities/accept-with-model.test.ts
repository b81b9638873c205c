import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createAcceptMessage } from '../../src/activities/accept-message.ts';
import { acceptingMessages } from '../../src/activities/accept-with-model.ts';
import type { AcceptedMessage, AcceptMessageArgs, CallModelArgs, CallModelResult } from '../../src/contracts/activities.ts';
import { failure } from '../../src/contracts/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { silentLog } from '../models/support.ts';
import { newConversation, statusOf, useTestStore } from '../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const turnId = 'turn_1';
const first: AcceptedMessage = { messageId: 'msg_1', text: 'Hello', steers: false };
const joins: AcceptedMessage = { messageId: 'msg_2', text: 'Faster', steers: true };
const ANSWER: CallModelResult = { outcome: 'answered', calls: [], usage: { inputTokens: 1, outputTokens: 1 }, spoke: true };

function argsOf(conversationId: string, ...messages: AcceptedMessage[]): CallModelArgs {
  const status = statusOf(conversationId, { state: 'running', turnId });
  const args = { conversationId, agentId: 'a', userId: 'u', tenantId: 't', turnId, stepId: 'step_1', step: 0 };
  return { ...args, ...(messages.length > 0 && { accepts: { messages, status } }) };
}

interface Place {
  activityId?: string;
  runId?: string;
  attempt?: number;
}
function inActivity<Args, Result>(work: (args: Args) => Promise<Result>, args: Args, { activityId = '5', runId = 'run', attempt = 1 }: Place = {}) {
  const workflowExecution = { workflowId: 'conversation', runId };
  const environment = new MockActivityEnvironment({ activityId, attempt, workflowExecution }, { logger: new DefaultLogger('ERROR') });
  return environment.run<[Args], Result, typeof work>(work, args);
}
const callModel = (
  args: CallModelArgs,
  { over = store, model = async () => ANSWER, ...place }: Place & { over?: Store; model?: () => Promise<CallModelResult> } = {},
) => inActivity(acceptingMessages(model, { store: over, log: silentLog }), args, place);
const acceptAlone = (args: AcceptMessageArgs, place: Place = { activityId: '9' }) => inActivity(createAcceptMessage({ store }), args, place);

const logOf = async (id: string) => (await store.events.read(id, 1)).map(({ type, data }) => [type, 'messageId' in data ? data.messageId : undefined]);
const textsOf = async (id: string) => (await store.transcript.read(id)).map(({ entry }) => entry.role === 'user' && entry.content[0]);
const ACCEPTED = [
  ['message.received', 'msg_1'],
  ['turn.started', undefined],
];

test('the messages and the status are stored before the model is called', async () => {
  const id = await newConversation(store);
  const seen: unknown[] = [];
  const model = async () => {
    seen.push(await logOf(id), await textsOf(id), (await store.conversations.get(id))?.state);
    return ANSWER;
  };
  expect(await callModel(argsOf(id, first, joins), { model })).toEqual({ ...ANSWER, accepted: true });
  const texts = ['Hello', 'Faster'].map((text) => ({ type: 'text', text }));
  expect(seen).toEqual([[...ACCEPTED, ['message.received', 'msg_2']], texts, 'running']);
});

test('a call without messages is passed on as it is', async () => {
  const id = await newConversation(store);
  expect(await callModel(argsOf(id))).toEqual(ANSWER);
  expect(await logOf(id)).toEqual([]);
});

test('a long text is read from where the client stored it', async () => {
  const id = await newConversation(store);
  await store.messages.put(id, 'msg_1', 'from Postgres');
  await callModel(argsOf(id, { messageId: 'msg_1', steers: false }));
  expect(await textsOf(id)).toEqual([{ type: 'text', text: 'from Postgres' }]);
});

test('attempts that ended between the acceptance and the model, and others beside them, accept once', async () => {
  const id = await newConversation(store);
  const bytes = () => store.conversations.storedBytes(id);
  const dies = () => Promise.reject(new Error('the worker died'));
  await expect(callModel(argsOf(id, first), { model: dies })).rejects.toThrow('the worker died');
  const stored = await bytes();
  await Promise.all([2, 3, 4].map((attempt) => callModel(argsOf(id, first), { attempt })));
  expect(await logOf(id)).toEqual(ACCEPTED);
  expect(await textsOf(id)).toHaveLength(1);
  // Each attempt that finds nothing new counts the brackets of an empty list.
  expect((await bytes()) - stored).toBe(6);
});

test('a message that a model call has accepted is not accepted again by itself, in either order and at the same time', async () => {
  const alone = (id: string) => acceptAlone({ ...first, conversationId: id, turnId, status: statusOf(id), eventsOf: 'message' });
  for (const order of ['model first', 'alone first', 'at once']) {
    const id = await newConversation(store);
    const works = [() => callModel(argsOf(id, first)), () => alone(id)];
    if (order === 'alone first') works.reverse();
    if (order === 'at once') await Promise.all(works.map((work) => work()));
    else for (const work of works) await work();
    expect(await logOf(id)).toEqual(ACCEPTED);
    expect(await textsOf(id)).toHaveLength(1);
  }
});

test('an attempt that was thought dead does not replace a status that was saved after the message', async () => {
  const id = await newConversation(store);
  await acceptAlone({ ...first, conversationId: id, turnId, status: statusOf(id, { state: 'running', queued: 1 }), eventsOf: 'message' });
  await store.conversations.saveStatus(statusOf(id, { state: 'paused' }), []);
  await callModel(argsOf(id, first));
  expect(await store.conversations.get(id)).toMatchObject({ state: 'paused', status: { state: 'paused' } });
});

test('a run after a reset logs its own events', async () => {
  const id = await newConversation(store);
  for (const runId of ['run-1', 'run-2', 'run-2']) await callModel(argsOf(id, first), { runId });
  expect(await logOf(id)).toEqual([...ACCEPTED, ...ACCEPTED]);
  expect(await textsOf(id)).toHaveLength(1);
});

test('an acceptance that an earlier version began is finished with its own events', async () => {
  const id = await newConversation(store);
  const args: AcceptMessageArgs = { ...first, conversationId: id, turnId, status: statusOf(id) };
  for (const attempt of [1, 2]) await acceptAlone(args, { activityId: '3', attempt });
  expect(await logOf(id)).toEqual(ACCEPTED);
});

test('a message that cannot be accepted fails the step, and the model is not called', async () => {
  const id = await newConversation(store);
  let asked = 0;
  const model = async () => ((asked += 1), ANSWER);
  const result = await callModel(argsOf(id, { messageId: 'msg_unknown', steers: false }), { model });
  const message = expect.stringContaining('"msg_unknown" is not in Postgres');
  expect(result).toEqual({ outcome: 'failed', accepted: false, code: 'MESSAGE_INVALID', message });
  expect(asked).toBe(0);
});

test.each([
  ['does not answer in time', () => new Promise<never>(() => undefined)],
  ['is away', () => Promise.reject(failure('POSTGRES_UNAVAILABLE', { problem: 'gone' }))],
])('while Postgres %s, the model is not called and the messages are left to be accepted alone', async (_, acceptMessage) => {
  const id = await newConversation(store);
  let asked = 0;
  const model = async () => ((asked += 1), ANSWER);
  const over = { ...store, conversations: { ...store.conversations, acceptMessage } };
  expect(await callModel(argsOf(id, first), { over, model })).toEqual({ outcome: 'unaccepted', accepted: false });
  expect(asked).toBe(0);
});

test('a later attempt is tried again while Postgres is away: an earlier one may have stored the answer of the step', async () => {
  const id = await newConversation(store);
  const conversations = { ...store.conversations, acceptMessage: () => Promise.reject(failure('POSTGRES_UNAVAILABLE', { problem: 'gone' })) };
  await expect(callModel(argsOf(id, first), { over: { ...store, conversations }, attempt: 2 })).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
});
