import { Client as Temporal, Connection } from '@temporalio/client';
import { Client } from 'pg';
import type { Chat } from '../../../src/client.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { installAgents, textIn, until, untilEvent, type Installation } from '../../e2e/support.ts';
import { startApi, type TestApi } from '../support.ts';

/** Requests that took effect, and whose answer was neither stored nor sent: their service was killed, or Postgres was away. */
let installation: Installation;
let service: TestApi;
let database: Client;
let headers: Record<string, string>;
const open: Chat[] = [];
beforeAll(async () => {
  const steps = [{ call: 'shell:run', with: { command: 'true' }, expect: { isError: true } }, { say: 'I see.' }];
  installation = await installAgents({ asking: { approval: [{ tool: 'shell:run', decide: 'ask' }], steps } });
  await installation.startWorker().ready;
  service = await startApi(installation);
  headers = { ...(await service.key()), 'content-type': 'application/json' };
  database = new Client({ connectionString: installation.environment['DATABASE_URL'] });
  await database.connect();
}, 180_000);
afterAll(async () => {
  await Promise.all(open.map((chat) => chat.close()));
  await database.end();
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

async function post(path: string, key: string, body: object): Promise<{ status: number; said: unknown }> {
  const answer = await fetch(service.url + path, { method: 'POST', headers: { ...headers, 'idempotency-key': key }, body: JSON.stringify(body) });
  return { status: answer.status, said: await answer.json() };
}

/** The same request twice: the answer to the first is lost, and nothing is heard of it for a minute. */
async function postTwice(path: string, key: string, body: object): Promise<{ status: number; said: unknown }> {
  await database.query('alter table request_answers add constraint no_answers check (status is null) not valid');
  try {
    expect(await post(path, key, body)).toMatchObject({ status: 500 });
  } finally {
    await database.query('alter table request_answers drop constraint no_answers');
  }
  expect(await post(path, key, body)).toMatchObject({ status: 409, said: { code: 'IDEMPOTENCY_RUNNING' } });
  await database.query(`update request_answers set began_at = began_at - interval '61 seconds'`);
  return post(path, key, body);
}

async function signalsOf(conversationId: string): Promise<string[]> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = loadConfig(installation.environment);
  const connection = await Connection.connect({ address });
  const { events = [] } = await new Temporal({ connection, namespace }).workflow.getHandle(conversationId).fetchHistory();
  await connection.close();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? []);
}

test.each([
  ['resume', 'resume', { extraTurns: 5 }],
  ['cancel', 'cancel', {}],
  ['stop-after-step', 'stopAfterStep', {}],
])(
  'a repeated %s has no second effect',
  async (route, signal, body) => {
    const chat = await installation.longshore.start({ agent: 'asking', user: 'user-1' });
    open.push(chat);
    const path = `/v1/conversations/${chat.id}/${route}`;
    const key = `${route}-1`;
    expect(await postTwice(path, key, body)).toEqual({ status: 202, said: { accepted: true } });
    // Another request, as meant.
    expect(await post(path, `${route}-2`, body)).toMatchObject({ status: 202 });
    // A signal is in the history only when the task of the workflow has ended that ran when it came.
    await chat.pause();
    await until(async () => (await signalsOf(chat.id)).includes('pause'), 'the last signal is in the history');
    expect(await signalsOf(chat.id)).toEqual([signal, signal, 'pause']);
  },
  60_000,
);

test('a repeated answer to an approval is told that it was given', async () => {
  const chat = await installation.longshore.start({ agent: 'asking', user: 'user-1', message: 'Begin.' });
  open.push(chat);
  const callId = textIn((await untilEvent(chat, ({ type }) => type === 'tool.approval-requested')).data, 'callId');
  expect(await postTwice(`/v1/approvals/${callId}`, 'approve-1', { answer: 'deny' })).toEqual({ status: 200, said: { callId, answer: 'deny' } });
  expect(await chat.reply()).toBe('I see.');
}, 60_000);

test('a repeated trigger of a schedule makes no second run', async () => {
  const { schedules } = installation.longshore;
  await schedules.create({ id: 'cut', agent: 'asking', user: 'user-1', message: 'Report.', cron: '0 9 31 1 *' });
  try {
    const { status, said } = await postTwice('/v1/schedules/cut/trigger', 'trigger-1', {});
    const { runs } = await schedules.get('cut');
    expect(runs).toHaveLength(1);
    expect({ status, said }).toMatchObject({ status: 200, said: { conversationId: runs[0]?.conversationId } });
    // Another request, as meant.
    expect(await post('/v1/schedules/cut/trigger', 'trigger-2', {})).toMatchObject({ status: 200 });
    expect((await schedules.get('cut')).runs).toHaveLength(2);
  } finally {
    await schedules.delete('cut');
  }
}, 60_000);

test('a signal to a conversation that does not exist, or has ended, says so with a key as well', async () => {
  expect(await post('/v1/conversations/conv_none/pause', 'pause-1', {})).toMatchObject({ status: 404, said: { code: 'CONVERSATION_NOT_FOUND' } });
  const chat = await installation.longshore.start({ agent: 'asking', user: 'user-1' });
  await chat.close();
  await untilEvent(chat, ({ type }) => type === 'conversation.closed');
  expect(await post(`/v1/conversations/${chat.id}/pause`, 'pause-2', {})).toMatchObject({ status: 409, said: { code: 'CONVERSATION_CLOSED' } });
}, 60_000);
