import type { Chat } from '../../../src/client.ts';
import { createLively, type Lively } from '../../plugins/dialects/mcp/lively-server.ts';
import { serveFixture, type ServedFixture } from '../../plugins/dialects/mcp/support.ts';
import { installAgents, resultsOf, until, type Installation, type WorkerProcess } from '../support.ts';

let lively: Lively;
let served: ServedFixture;
let installation: Installation;
let worker: WorkerProcess;
beforeAll(async () => {
  lively = createLively();
  served = await serveFixture(0, lively.create);
  const far = { mcp: { far: { url: served.url } }, tools: ['far:*'] };
  installation = await installAgents({ sailing: { ...far, steps: [{ call: 'far:sail', with: {} }, { say: 'Landed.' }] } });
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

/** A conversation whose call is a task that the worker follows. */
async function atSea(): Promise<Chat> {
  const chat = await installation.longshore.start({ agent: 'sailing', user: 'user-1', message: 'Sail.' });
  const shelf = { pluginId: 'far', tenantId: 'default', conversationId: chat.id, userId: 'user-1' };
  await until(async () => (await installation.store.pluginStore.list(shelf, 'task ')).length === 1, 'the id of the task is stored');
  return chat;
}

test('a call that is a task is followed by the next worker when its worker was killed, and made once', async () => {
  const chat = await atSea();
  await worker.kill();
  lively.finish('back');
  worker = installation.startWorker();
  await worker.ready;
  expect(await chat.reply()).toBe('Landed.');
  expect((await resultsOf(chat))[0]).toMatchObject({ text: 'back', isError: false });
  expect(lively.asked).toEqual(['call sail as a task', 'result of task-1']);
  await chat.close();
});

test('a call that is a task is cancelled at its server when its turn is interrupted', async () => {
  lively.asked.length = 0;
  const chat = await atSea();
  await chat.interrupt();
  await until(async () => lively.asked.length === 2, 'the task is cancelled');
  expect(lively.asked).toEqual(['call sail as a task', 'cancel task-2']);
  await chat.close();
});
