import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import type { Chat } from '../../src/client.ts';
import { openDatabase, type Database } from '../../src/store/database/database.ts';
import { runLine } from '../cli/support.ts';
import { installAgents, resultsOf, textIn, until, type Installation, type ScriptedStep } from './support.ts';

const LAB = fileURLToPath(new URL('fixtures/lab', import.meta.url));
const MEGABYTE = 1024 * 1024;
const CALLS = 41;

/** Tells how many calls had an answer, and what the others were told. */
const GUEST = `
import os
from longshore import tools, ToolError
done, refused = 0, set()
for n in range(${CALLS}):
    try:
        tools.lab.look(key=os.urandom(450_000).hex())
        done += 1
    except ToolError as error:
        refused.add((error.code, str(error)))
print(done, *sorted(refused)[0] if refused else ())
`;

const TOO_LARGE = `
from longshore import tools, ToolError
try:
    tools.lab.look(key='x' * 1_000_001)
except Exception as error:
    print(type(error).__name__, error)
`;

let installation: Installation;
let database: Database;

function agent(steps: ScriptedStep[], storageMb: number) {
  return { plugins: [LAB], tools: ['code:*', 'lab:*'], budget: { storageMb, steps: 50 }, steps: [...steps, { say: 'Done.' }] };
}

beforeAll(async () => {
  const program = (code: string): ScriptedStep => ({ call: 'code:run', with: { language: 'python', code } });
  installation = await installAgents({
    code: agent([program(GUEST), program(GUEST)], 10),
    large: agent([{ call: 'lab:look', with: { key: 'é'.repeat(500_001) } }, program(TOO_LARGE)], 10),
  });
  database = openDatabase({ url: installation.environment['DATABASE_URL'] ?? '', log: pino({ level: 'silent' }), poolSize: 1 });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await database.close();
  await installation[Symbol.asyncDispose]();
});

const start = (name: string) => installation.longshore.start({ agent: name, user: 'user-1', message: 'Begin.' });

/** What the tables with their indexes take up. */
async function tableBytes(): Promise<number> {
  const sum = `select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class where relname in ('transcript', 'events', 'tool_calls')`;
  return (await database.query<{ bytes: number }>('test.tables', sum, []))[0]?.bytes ?? 0;
}

async function untilPaused(chat: Chat, limit: number): Promise<void> {
  const paused = { by: 'budget', exhausted: 'storage', limit };
  await until(async () => JSON.stringify((await chat.status()).paused) === JSON.stringify(paused), `it is paused at ${limit} MB`);
}

async function grant(chat: Chat, megabytes: number): Promise<void> {
  const granted = await runLine(installation.longshore, ['resume', chat.id, '--extra-storage', String(megabytes)]);
  expect(granted).toMatchObject({ code: 0, out: expect.stringContaining('is asked to go on') });
}

test('calls of code beyond the storage are refused, the model is told, and a grant lets it go on; long after its end, what they stored is removed', async () => {
  const before = await tableBytes();
  const chat = await start('code');
  await untilPaused(chat, 10);
  const [said] = (await resultsOf(chat)).map((result) => textIn(result, 'stdout'));
  expect(said).toMatch(
    /^\d+ STORAGE_EXHAUSTED This conversation has used its storage budget \(10 MB, budget\.storageMb\); the call has changed nothing and has no result\./,
  );
  expect(Number.parseInt(said ?? '')).toBeLessThan(CALLS / 2);
  expect((await chat.status()).storedBytes).toBeLessThan(12.5 * MEGABYTE);
  expect((await tableBytes()) - before).toBeLessThan(15 * MEGABYTE);
  await grant(chat, 100);
  expect(await chat.reply()).toBe('Done.');
  const [, more] = (await resultsOf(chat)).map((result) => textIn(result, 'stdout'));
  expect(more).toBe(`${CALLS}\n`);
  await chat.close();
  await removedLongAfter(chat);
}, 400_000);

/** Makes it old, and has a worker that starts look for such conversations. */
async function removedLongAfter(chat: Chat): Promise<void> {
  await until(async () => (await installation.store.conversations.get(chat.id))?.status.state === 'closed', 'it is closed');
  const sum = `select coalesce(sum(octet_length(arguments::text) + coalesce(octet_length(value::text), 0)), 0)::float8 as bytes from tool_calls where conversation_id = $1`;
  const bytes = async () => (await database.query<{ bytes: number }>('test.calls', sum, [chat.id]))[0]?.bytes ?? 0;
  expect(await bytes()).toBeGreaterThan(30 * MEGABYTE);
  await database.query('test.age', `update conversations set updated_at = clock_timestamp() - interval '91 days' where conversation_id = $1`, [chat.id]);
  await installation.startWorker().ready;
  await until(async () => (await bytes()) < MEGABYTE / 10, 'what its calls stored is removed');
  expect(JSON.stringify(await installation.store.transcript.read(chat.id))).toContain('Done.');
}

test('arguments of more than a megabyte are refused, from the model and from code, and not stored', async () => {
  const before = await tableBytes();
  const chat = await start('large');
  expect(await chat.reply()).toBe('Done.');
  const [ofModel, ofCode] = await resultsOf(chat);
  expect(ofModel).toEqual({
    isError: true,
    text: expect.stringMatching(/^Its arguments take 10000\d\d bytes as JSON; at most 1000000 are allowed\. Write the content to a file/),
  });
  expect(textIn(ofCode, 'stdout')).toMatch(/1000000|1_000_000|1 MB/);
  expect((await chat.status()).storedBytes).toBeLessThan(50_000);
  expect((await tableBytes()) - before).toBeLessThan(MEGABYTE);
  await chat.close();
}, 180_000);
