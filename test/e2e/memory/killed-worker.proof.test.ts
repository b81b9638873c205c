import { setTimeout as pause } from 'node:timers/promises';
import { install, resultsOf, type Installation } from '../support.ts';

/** Each write of a conversation takes effect once, however often its workers die: a second effect would leave the next write a version that it does not know. */
const WRITES = 60;
const MOMENTS_MS = [100, 300, 200, 450];

let installation: Installation;
beforeAll(async () => {
  const write = (version: number) => ({ call: 'memory:write', with: { path: 'log.md', content: `entry ${version + 1}`, version } });
  const steps = Array.from({ length: WRITES }, (_, version) => write(version));
  installation = await install([...steps, { say: 'Done.' }], { memory: 'user', tools: [], budget: { steps: WRITES + 1 } });
}, 180_000);
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
}, 180_000);

test('workers are killed while a conversation writes, and every write is there once, in order', async () => {
  let worker = installation.startWorker();
  await worker.ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Go.' });
  const reply = chat.reply();
  for (const moment of MOMENTS_MS) {
    await pause(moment);
    await worker.kill();
    worker = installation.startWorker();
    await worker.ready;
  }
  expect((await chat.status()).state).toBe('running');
  expect(await reply).toBe('Done.');
  const results = await resultsOf(chat);
  expect(results.map(({ text }) => text)).toEqual(Array.from({ length: WRITES }, (_, index) => `log.md is written, version ${index + 1}.`));
  const history = await installation.longshore.memory.history('log.md', { user: 'user-1' });
  expect(history.map(({ version }) => version)).toEqual(Array.from({ length: 20 }, (_, index) => WRITES - index));
  expect(new Set(history.map(({ by }) => by.callId)).size).toBe(20);
  expect(await installation.longshore.memory.read('log.md', { user: 'user-1' })).toMatchObject({ content: `entry ${WRITES}` });
  await chat.close();
}, 180_000);
