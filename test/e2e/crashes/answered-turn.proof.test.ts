import { Client } from 'pg';
import { install, until, type Installation } from '../support.ts';

/** The calls of an answer wait for a lock before they are proposed; the answer is stored by then. */
const HOLD_CALLS = `
  create function hold_calls() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock_shared(1); return new; end';
  create trigger hold_calls before insert on tool_calls for each row execute function hold_calls()`;
const WAITING = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`;

let installation: Installation;
let database: Client;
beforeAll(async () => {
  const write = (path: string) => ({ call: 'files:write', with: { path: `/home/user/${path}`, content: 'x' } });
  installation = await install([{ calls: [write('a'), write('b')] }, { say: 'Never said.' }, { say: 'Second.' }]);
  database = new Client({ connectionString: installation.environment['DATABASE_URL'] });
  await database.connect();
  await database.query(HOLD_CALLS);
}, 180_000);
afterAll(async () => {
  await database.end();
  await installation[Symbol.asyncDispose]();
}, 180_000);

/** A worker dies while what its statement inserts waits; Postgres commits the statement all the same, unless it is ended too. */
test.each(['proposed', 'not proposed'])(
  'a turn that is interrupted after its worker died with the answer stored and its calls %s: each call has one result, and the conversation goes on',
  async (what) => {
    const { longshore, store } = installation;
    const worker = installation.startWorker();
    await worker.ready;
    await database.query('select pg_advisory_lock(1)');
    const chat = await longshore.start({ agent: 'scripted', user: 'ann', message: 'One.' });
    const waiting = async () => (await database.query<{ pid: number }>(WAITING)).rows;
    await until(async () => (await waiting()).length > 0, 'the calls wait for a lock');
    await worker.kill();
    if (what === 'not proposed') for (const { pid } of await waiting()) await database.query('select pg_terminate_backend($1)', [pid]);
    await database.query('select pg_advisory_unlock(1)');
    await until(async () => (await waiting()).length === 0, 'nothing waits any more');
    const next = installation.startWorker();
    await Promise.all([chat.interrupt(), next.ready]);
    await expect(chat.reply()).rejects.toMatchObject({ code: 'TURN_FAILED', values: { outcome: 'interrupted' } });

    const entries = (await store.transcript.read(chat.id)).map(({ entry }) => entry);
    const ids = entries.flatMap((entry) => (entry.role === 'assistant' ? entry.parts : [])).flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []));
    expect(ids).toHaveLength(2);
    // On a busy machine, the next attempt may come before the interruption: then the workflow ends the calls.
    const text = expect.stringMatching(/^Interrupted(?: before it started; nothing was run|: the turn was ended before this call had a result)\.$/);
    expect(entries.filter(({ role }) => role === 'tool')).toEqual(
      ids.map((callId) => ({ role: 'tool', callId, tool: 'files:write', content: [{ type: 'text', text }], isError: true })),
    );
    const told = (await store.events.read(chat.id, 0)).map(({ type, data }) => [type, data['callId']]);
    expect(told.filter(([type]) => type === 'tool.requested').map(([, callId]) => callId)).toEqual(ids);
    expect(told.filter(([type]) => type === 'tool.finished').map(([, callId]) => callId)).toEqual(ids);

    const { turnId } = await chat.send('Two.');
    expect(await chat.reply(turnId)).not.toBe('');
    const fork = await chat.fork();
    await Promise.all([chat.close(), fork.close()]);
    await next.stop();
  },
  300_000,
);
