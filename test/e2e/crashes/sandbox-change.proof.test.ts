import { Client } from 'pg';
import { waitingForLocks } from '../../sandbox/lifecycle/support.ts';
import { install, until, untilEvent, type Installation } from '../support.ts';

/** A lost attempt is noticed by its missing heartbeats: within 15 seconds, and not after the minute that an attempt may take. Milliseconds. */
const NOTICED_MS = 25_000;

let installation: Installation;
beforeAll(async () => {
  installation = await install([{ call: 'shell:run', with: { command: 'echo begun; sleep 3000', timeoutSeconds: 3600 } }]);
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

/** Locks the row of a sandbox, so that it cannot be changed, until a worker waits for that. Kills this worker and has another one in its place. */
async function killWhileChanged(conversationId: string, change: () => Promise<void>): Promise<void> {
  const worker = installation.startWorker();
  await worker.ready;
  const chat = await installation.longshore.chat(conversationId);
  await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('begun'));
  const databaseUrl = installation.environment['DATABASE_URL'] ?? '';
  const database = new Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    await database.query('begin');
    await database.query('select 1 from sandboxes where conversation_id = $1 for update', [conversationId]);
    await change();
    await until(async () => (await waitingForLocks({ databaseUrl })) > 0, 'a worker waits to change the sandbox');
    await worker.kill();
    await database.query('rollback');
  } finally {
    await database.end();
  }
  await installation.startWorker().ready;
}

test('a worker that is killed while it destroys a sandbox: the next one destroys it soon', async () => {
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'ann', message: 'Go.' });
  await killWhileChanged(chat.id, () => chat.close());
  const killedMs = Date.now();
  await until(async () => (await chat.status()).state === 'closed', 'the conversation is closed');
  const tookMs = Date.now() - killedMs;
  console.log(`closed after ${tookMs} ms`);
  expect(tookMs).toBeLessThan(NOTICED_MS);
  await installation.reap();
  expect([await installation.containers(), await installation.volumes()]).toEqual([[], []]);
}, 300_000);
