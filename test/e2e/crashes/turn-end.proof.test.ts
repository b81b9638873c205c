import { Client as TemporalClient, Connection, type WorkflowHandle } from '@temporalio/client';
import { Client } from 'pg';
import type { Chat } from '../../../src/client.ts';
import { startCuttingProxy, type CuttingProxy } from '../../support/cutting-proxy.ts';
import { install, until, type Installation } from '../support.ts';

const AWAY_MS = 30_000;
/** The end of a turn waits for a lock before it is stored. */
const HOLD_ENDS = `
  create function hold_ends() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock_shared(1); return new; end';
  create trigger hold_ends before insert on events for each row when (new.type = 'turn.finished') execute function hold_ends()`;
/** Who waits for a lock. */
const WAITING = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`;
/** Gives the place of a turn back, which follows the storing of its end, waits for this. */
const PLACES = `hashtextextended('turn places', 0)`;

let installation: Installation;
let database: Client;
let connection: Connection;
let proxy: CuttingProxy;
beforeAll(async () => {
  installation = await install([{ say: 'First.' }, { say: 'Second.' }], { maxRunningTurns: 10 });
  const url = new URL(installation.environment['DATABASE_URL'] ?? '');
  proxy = await startCuttingProxy({ host: url.hostname, port: Number(url.port) });
  database = new Client({ connectionString: url.href });
  await database.connect();
  connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  await database.query(HOLD_ENDS);
}, 180_000);
afterAll(async () => {
  await database.end();
  await connection.close();
  await installation[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
}, 180_000);

/** A worker that reaches Postgres through the proxy. */
async function startWorker(): Promise<ReturnType<Installation['startWorker']>> {
  const url = new URL(installation.environment['DATABASE_URL'] ?? '');
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  const worker = installation.startWorker({ DATABASE_URL: url.href });
  await worker.ready;
  return worker;
}

const waiting = async () => (await database.query<{ pid: number }>(WAITING)).rows;
const untilWaiting = () => until(async () => (await waiting()).length > 0, 'the end of the turn waits for a lock');
const isStored = async ({ id }: Chat) => (await installation.store.events.read(id, 0)).some(({ type }) => type === 'turn.finished');
const workflowOf = ({ id }: Chat): WorkflowHandle => new TemporalClient({ connection }).workflow.getHandle(id);

/** Starts a conversation whose first turn waits before its end is stored. */
async function startHeld(): Promise<Chat> {
  await database.query('select pg_advisory_lock(1)');
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'ann', message: 'One.' });
  await untilWaiting();
  return chat;
}

/** The same, and waits after its end is stored. */
async function startStored(): Promise<Chat> {
  const chat = await startHeld();
  await database.query(`select pg_advisory_lock(${PLACES})`);
  await database.query('select pg_advisory_unlock(1)');
  await until(() => isStored(chat), 'the end of the turn is stored');
  await untilWaiting();
  return chat;
}

/** How the ends of turns were asked for: activities, and local ones that succeeded. */
async function endsOf(chat: Chat): Promise<string[]> {
  const { events } = await workflowOf(chat).fetchHistory();
  return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled, markerRecordedEventAttributes: marker }) => {
    if (scheduled?.activityType?.name === 'finishTurn') return ['activity'];
    return marker?.markerName === 'core_local_activity' && !marker.failure ? ['local'] : [];
  });
}

/** The next turn is like the first one; each has one end, after its step. */
async function expectWhole(chat: Chat): Promise<void> {
  expect(await chat.reply()).toBe('First.');
  const { turnId } = await chat.send('Two.');
  expect(await chat.reply(turnId)).toBe('Second.');
  await until(async () => (await chat.status()).state === 'idle', 'the conversation is idle');
  await chat.close();
  const types: string[] = [];
  for await (const { type } of chat.events()) types.push(type);
  const turn = ['message.received', 'turn.started', 'step.finished', 'turn.finished'];
  expect(types.filter((type) => /^(turn|message|conversation)\.|step\.finished/.test(type))).toEqual([
    'conversation.started',
    ...turn,
    ...turn,
    'conversation.closed',
  ]);
  expect((await database.query('select 1 from turn_places where conversation_id = $1', [chat.id])).rows).toEqual([]);
}

test('a worker that is killed when the end of a turn is stored, and its workflow does not know: the turn ends once', async () => {
  const worker = await startWorker();
  const chat = await startStored();
  await worker.kill();
  await database.query(`select pg_advisory_unlock(${PLACES})`);
  const next = await startWorker();
  await expectWhole(chat);
  expect(await endsOf(chat)).toEqual(['local', 'local']);
  await next.stop();
}, 300_000);

/** A worker is killed when the end of a turn is stored, and its workflow does not know; an update comes before the next worker. */
async function updatedBetweenWorkers<Result>(
  name: string,
  args: object,
): Promise<{ chat: Chat; result: PromiseSettledResult<Result>; next: Awaited<ReturnType<typeof startWorker>> }> {
  const worker = await startWorker();
  const chat = await startStored();
  await worker.kill();
  await database.query(`select pg_advisory_unlock(${PLACES})`);
  const updating = workflowOf(chat).executeUpdate<Result, [object]>(name, { args: [args] });
  const [next, [result]] = await Promise.all([startWorker(), Promise.allSettled([updating])]);
  return { chat, result, next };
}

test.each(['steer', 'interrupt'])(
  'a message that comes between such workers with %s does not join the turn that has ended: it has a turn of its own',
  async (whenBusy) => {
    const { chat, result, next } = await updatedBetweenWorkers<{ turnId: string }>('sendMessage', { text: 'Two.', whenBusy });
    const types: string[] = [];
    const turnId = result.status === 'fulfilled' ? result.value.turnId : String(result.reason);
    expect(await chat.reply(turnId)).toBe('Second.');
    await chat.close();
    for await (const { type } of chat.events()) if (type.startsWith('turn.')) types.push(type);
    expect(types).toEqual(['turn.started', 'turn.finished', 'turn.started', 'turn.finished']);
    await next.stop();
  },
  300_000,
);

test('a rewind that comes between such workers is not refused for the turn that has ended', async () => {
  const { chat, result, next } = await updatedBetweenWorkers('rewind', { checkpointId: 'cp_none' });
  expect(result).toMatchObject({ status: 'rejected', reason: { cause: { type: 'CHECKPOINT_NOT_FOUND' } } });
  await chat.close();
  await next.stop();
}, 300_000);

test('a local end that is stored and takes too long: an activity ends the same turn, once', async () => {
  const worker = await startWorker();
  const chat = await startStored();
  await until(async () => (await endsOf(chat)).includes('activity'), 'an activity is to end the turn');
  await database.query(`select pg_advisory_unlock(${PLACES})`);
  await expectWhole(chat);
  expect(await endsOf(chat)).toEqual(['activity', 'local']);
  await worker.stop();
}, 300_000);

test.each(['stored', 'not stored'])(
  `Postgres is away for ${AWAY_MS / 1000} s when a turn ends, and the end was %s: the turn ends once`,
  async (what) => {
    const worker = await startWorker();
    const chat = await startHeld();
    const backAt = Date.now() + AWAY_MS;
    proxy.cut();
    if (what === 'not stored') for (const { pid } of await waiting()) await database.query('select pg_terminate_backend($1)', [pid]);
    await database.query('select pg_advisory_unlock(1)');
    await until(async () => (await waiting()).length === 0, 'nothing waits any more');
    expect(await isStored(chat)).toBe(what === 'stored');
    await until(async () => Date.now() > backAt, 'Postgres is back');
    proxy.heal();
    await expectWhole(chat);
    expect(await endsOf(chat)).toEqual(['activity', 'local']);
    await worker.stop();
  },
  300_000,
);

test('a conversation whose workflow is cancelled while its turn ends: the turn ends once, then it is closed', async () => {
  const worker = await startWorker();
  const chat = await startHeld();
  await workflowOf(chat).cancel();
  await database.query('select pg_advisory_unlock(1)');
  const types: string[] = [];
  for await (const { type } of chat.events()) types.push(type);
  expect(types.slice(-2)).toEqual(['turn.finished', 'conversation.closed']);
  expect(types.filter((type) => type === 'turn.finished')).toHaveLength(1);
  expect((await chat.status()).state).toBe('closed');
  await worker.stop();
}, 300_000);
