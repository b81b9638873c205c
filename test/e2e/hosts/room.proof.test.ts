import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import type { Chat } from '../../../src/client.ts';
import { sandboxIdOf } from '../../../src/contracts/ids.ts';
import { serve } from '../../api/serve.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, resultsOf, until, untilEvent, type Installation, type WorkerProcess } from '../support.ts';

/** A host with room for two sandboxes. */
const HOST = { LONGSHORE_HOST_ID: 'room', LONGSHORE_HOST_MEMORY: '512m', LONGSHORE_HOST_LABELS: 'zone=a, small' };
const MEMORY_MB = 256;

const run = (command: string) => ({ call: 'shell:run', with: { command } });
const sandbox = { memoryMb: MEMORY_MB, idle: { freeze: 0 } };
const steps = [run('echo one >> log; cat log'), { say: 'First.' }, run('echo two >> log; cat log'), { say: 'Second.' }];

let installation: Installation;
let worker: WorkerProcess;

beforeAll(async () => {
  installation = await installAgents({
    working: { sandbox, steps },
    stopping: { sandbox: { memoryMb: MEMORY_MB, idle: { freeze: 0, stop: '500ms' } }, steps },
    huge: { sandbox: { memoryMb: 1024 }, steps },
  });
  worker = await begin();
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

async function begin(more: NodeJS.ProcessEnv = {}): Promise<WorkerProcess> {
  const started = installation.startWorker({ ...HOST, ...more });
  await started.ready;
  return started;
}
const chats: Chat[] = [];
afterEach(() => end(...chats.splice(0)));
async function start(agent = 'working'): Promise<Chat> {
  const chat = await installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });
  chats.push(chat);
  return chat;
}
const untilInLine = (chat: Chat) => until(async () => (await chat.status()).waitsForRoom !== undefined, 'its sandbox waits for memory');
const line = async (...args: string[]) => (await runLine(installation.longshore, args, { environment: installation.environment })).out;
const outputs = async (chat: Chat) => (await resultsOf(chat)).map(({ stdout }) => stdout);
async function ready(agent?: string): Promise<Chat> {
  const chat = await start(agent);
  expect(await chat.reply()).toBe('First.');
  return chat;
}
async function waiting(agent?: string): Promise<Chat> {
  const chat = await start(agent);
  await untilInLine(chat);
  return chat;
}
const end = (...ended: Chat[]) => Promise.all(ended.map((chat) => chat.close()));
async function reserved(): Promise<number> {
  const [host] = await installation.store.fleet.hosts(60_000, HOST.LONGSHORE_HOST_ID);
  return (host?.reservedBytes ?? 0) / 2 ** 20;
}

test('a third sandbox waits for a host with room for two, says so, and goes on when one of them is closed', async () => {
  const [first, second] = [await ready(), await ready()];
  expect(await reserved()).toBe(512);
  const third = await waiting();
  const data = { neededMb: 256, host: 'room', promisedMb: 512, allowedMb: 512, ahead: 0 };
  expect(await third.status()).toMatchObject({ state: 'running', sandboxTier: 'none', waitsForRoom: data });
  expect(await untilEvent(third, ({ type }) => type === 'sandbox.waiting')).toMatchObject({ data });
  const text = 'its sandbox waits for 256 MB of memory: host room has promised 512 of 512 MB, 0 wait longer';
  expect(await line('show', third.id)).toContain(`\n${text}\n`);
  expect(await line('hosts', 'show', 'room')).toContain('sandboxes that wait for it or for any host: 1\n');
  expect(await line('hosts', 'show', 'room')).toContain('labels zone=a, small\n');
  const fourth = await waiting();
  expect((await fourth.status()).waitsForRoom).toMatchObject({ ahead: 1 });
  await end(first);
  expect(await third.reply()).toBe('First.');
  expect(await third.status()).not.toHaveProperty('waitsForRoom');
  expect(await outputs(third)).toEqual(['one\n']);
  await end(second);
  expect(await fourth.reply()).toBe('First.');
  await end(third, fourth);
  const types: string[] = [];
  for await (const { type } of third.events()) types.push(type);
  expect(types.filter((type) => /^(sandbox|tool)\./.test(type) && type !== 'tool.output')).toEqual([
    'tool.requested',
    'tool.started',
    'sandbox.waiting',
    'sandbox.changed',
    'tool.finished',
    'sandbox.changed',
  ]);
}, 120_000);

test('a sandbox that was stopped waits before it starts again, and has its files then', async () => {
  const stopped = await ready('stopping');
  await until(async () => (await stopped.status()).sandboxTier === 'stopped', 'it is stopped');
  const others = [await ready(), await ready()] as const;
  await stopped.send('Go on.');
  await untilInLine(stopped);
  await end(others[0]);
  expect(await stopped.reply()).toBe('Second.');
  expect(await outputs(stopped)).toEqual(['one\n', 'one\ntwo\n']);
  await end(stopped, others[1]);
}, 120_000);

test('files and terminals over HTTP do not wait: they are refused with the time after which to try again, and keep their place', async () => {
  const stopped = await ready('stopping');
  await until(async () => (await stopped.status()).sandboxTier === 'stopped', 'it is stopped');
  const others = [await ready(), await ready()] as const;
  const server = await serve(installation);
  const { text } = await installation.longshore.keys.create({ name: 'test', scopes: ['files:read', 'sandbox:exec'] });
  const headers = { authorization: `Bearer ${text}` };
  const urlOf = (path: string) => `${server.url}/v1/conversations/${stopped.id}${path}`;
  const refused = await fetch(urlOf('/files/log'), { headers });
  const sandboxId = sandboxIdOf(stopped.id);
  const detail = `No host has 256 MB of memory for sandbox "${sandboxId}" now: "room" has promised 512 of 512 MB (LONGSHORE_HOST_MEMORY), and 0 others have waited longer. A call of a conversation goes on when there is room; try anything else again`;
  expect({ status: refused.status, after: refused.headers.get('retry-after'), body: await refused.json() }).toEqual({
    status: 503,
    after: '1',
    body: expect.objectContaining({ code: 'HOST_FULL', retryable: true, detail }),
  });
  const terminal = new WebSocket(urlOf('/terminals/main').replace('http', 'ws'), { headers });
  terminal.on('error', () => undefined);
  const [, told] = (await once(terminal, 'unexpected-response')) as [unknown, IncomingMessage];
  expect({ status: told.statusCode, after: told.headers['retry-after'] }).toEqual({ status: 503, after: expect.stringMatching(/^[1-5]$/) });
  told.destroy();
  await end(others[0]);
  await until(async () => (await fetch(urlOf('/files/log'), { headers })).status === 200, 'there is room');
  expect(await (await fetch(urlOf('/files/log'), { headers })).text()).toBe('one\n');
  await end(stopped, others[1]);
  await server.kill();
}, 120_000);

test('who waits is not forgotten when the worker is killed, and one whose turn was ended keeps nobody waiting', async () => {
  const [first, second] = [await ready(), await ready()];
  const [third, fourth] = [await waiting(), await waiting()];
  await worker.kill();
  worker = await begin();
  await third.interrupt();
  await until(async () => (await third.status()).lastTurn?.outcome === 'interrupted', 'its turn has ended');
  await end(third, first);
  expect(await fourth.reply()).toBe('First.');
  await end(second, fourth);
  await until(async () => (await reserved()) === 0, 'nothing is promised any more');
}, 120_000);

test('a sandbox that no host can take is refused at once, with what to do', async () => {
  const chat = await start('huge');
  expect(await chat.reply()).toBe('First.');
  const sandboxId = sandboxIdOf(chat.id);
  expect(await resultsOf(chat)).toEqual([
    {
      text: `Sandbox "${sandboxId}" needs 1024 MB of memory, and host "room" promises 512 MB at most to all sandboxes together. Lower the memory limit of its agent or template, raise LONGSHORE_HOST_MEMORY there, or add a larger host`,
      isError: true,
    },
  ]);
  await end(chat);
}, 60_000);

test('a wait that is too long ends with what to do, and the next call begins to wait anew', async () => {
  await worker.stop();
  worker = await begin({ LONGSHORE_HOST_WAIT: '8s' });
  const [first, second] = [await ready(), await ready()];
  const third = await start();
  expect(await third.reply()).toBe('First.');
  const [result] = await resultsOf(third);
  expect(result).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^Sandbox "sbx_\w+" has waited \d+ s for 256 MB of memory \(LONGSHORE_HOST_WAIT\): host "room" has promised 512 of 512 MB\. /),
  });
  await third.send('Again.');
  await untilInLine(third);
  await end(first);
  expect(await third.reply()).toBe('Second.');
  expect(await outputs(third)).toEqual([undefined, 'two\n']);
  await end(second, third);
}, 120_000);
