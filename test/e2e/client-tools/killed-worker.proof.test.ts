import type { Longshore } from '../../../src/client.ts';
import { install, until, untilEvent, type Installation } from '../support.ts';

/** A call that waits for a client outlives every worker. */
let installation: Installation;
let longshore: Longshore;
beforeAll(async () => {
  const openFile = { description: 'Opens a file.', timeout: '1m' };
  installation = await install([{ call: 'client:open_file' }, { say: 'It is open.' }], { clientTools: { open_file: openFile } });
  ({ longshore } = installation);
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

async function waitingIn(conversationId: string): Promise<string> {
  const chat = await longshore.chat(conversationId);
  const event = await untilEvent(chat, ({ type }) => type === 'tool.waiting');
  if (event.type !== 'tool.waiting') throw new Error('another event');
  return event.data.callId;
}

test('while no worker runs, a client takes the call and gives its result; the next worker goes on with it', async () => {
  const first = installation.startWorker();
  await first.ready;
  await using chat = await longshore.start({ agent: 'scripted', user: 'ann', message: 'Open it.' });
  const callId = await waitingIn(chat.id);
  await first.kill();
  const serving = chat.tools({ open_file: () => ({ opened: true }) });
  await until(async () => (await longshore.waitingCalls(chat)).calls.length === 0, 'the client has answered');
  await installation.startWorker().ready;
  expect(await chat.reply()).toBe('It is open.');
  const log = [];
  for await (const event of chat.events()) {
    if (event.data['callId'] === callId) log.push(event.type);
    if (event.type === 'turn.finished') break;
  }
  expect(log).toEqual(['tool.requested', 'tool.started', 'tool.waiting', 'tool.finished']);
  await chat.close();
  await serving;
}, 120_000);

test('a worker that is killed again and again loses no call and no result', async () => {
  await using chat = await longshore.start({ agent: 'scripted', user: 'ann', message: 'Open it.' });
  let runs = 0;
  const serving = chat.tools({ open_file: () => ({ opened: (runs += 1) }) });
  const replied = chat.reply();
  for (let kills = 0; kills < 4; kills += 1) {
    const worker = installation.startWorker();
    await worker.ready;
    await worker.kill();
  }
  const last = installation.startWorker();
  expect(await replied).toBe('It is open.');
  expect(runs).toBe(1);
  await chat.close();
  await serving;
  await last.stop();
}, 180_000);
