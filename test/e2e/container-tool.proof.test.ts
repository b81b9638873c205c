import { fileURLToPath } from 'node:url';
import type { Chat } from '../../src/client.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { installAgents, resultsOf, until, untilEvent, type Installation, type WorkerProcess } from './support.ts';

const YARD = fileURLToPath(new URL('fixtures/yard', import.meta.url));
/** What the code of a command tries that has found out the one name under which tools ask. */
const INTRUDE = `require('/opt/longshore/guest/library/longshore.cjs').call('longshore:context', { what: 'store.get', args: ['hauls'] }).then(console.log, (error) => console.log(error.code))`;

let installation: Installation;
let worker: WorkerProcess;

beforeAll(async () => {
  const count = { call: 'shell:run', with: { command: 'cat /proc/[0-9]*/comm 2>/dev/null | grep -cx sleep' } };
  const read = { call: 'shell:run', with: { command: 'cat yard.log' } };
  const agentOf = (tool: string, then: object) => ({
    plugins: [YARD],
    tools: ['yard:*', 'shell:*'],
    steps: [{ call: tool, with: {} }, then, { say: 'Done.' }],
  });
  installation = await installAgents({
    haul: agentOf('yard:haul', { call: 'shell:run', with: { command: `node -e ${JSON.stringify(INTRUDE)}` } }),
    lift: agentOf('yard:lift', read),
    hang: agentOf('yard:hang', count),
    break: agentOf('yard:lift', read),
  });
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

/** A conversation whose tool is at work in its sandbox. */
async function begin(agent: string): Promise<Chat> {
  const chat = await installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });
  await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('waiting'));
  return chat;
}

async function inSandbox(chat: Chat, command: string): Promise<string> {
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  return (await runCommand('docker', ['exec', '--user', 'user', '--workdir', '/home/user', row?.containerName ?? '', 'sh', '-c', command])).stdout;
}

async function sentBy(chat: Chat): Promise<string[]> {
  const events = await installation.store.events.read(chat.id, 0);
  return events.flatMap(({ type, data }) => (type === 'message.sent' && data.part.type === 'text' ? [data.part.text] : []));
}

test('a worker killed while a tool works in the sandbox: the tool works on, asks the next worker, and takes effect once', async () => {
  const chat = await begin('haul');
  await worker.kill();
  await inSandbox(chat, 'touch go');
  worker = installation.startWorker();
  await worker.ready;
  expect(await chat.reply()).toBe('Done.');
  const [result, intruded] = await resultsOf(chat);
  expect(result).toEqual({ log: 'begun\ncommand\n', hauls: 1, host: (await inSandbox(chat, 'hostname')).trim() });
  expect(await sentBy(chat)).toEqual(['Hauling.', 'Hauled.']);
  expect(intruded).toMatchObject({ stdout: 'TOOL_NOT_FOUND\n' });
  await chat.close();
}, 300_000);

test('a tool that ends while no worker is there has its result waiting for the next', async () => {
  const chat = await begin('lift');
  await worker.kill();
  await inSandbox(chat, 'touch go');
  await until(async () => (await inSandbox(chat, 'cat yard.log; pgrep -f [r]un_tool.cjs || echo ended')).endsWith('lifted\nended\n'), 'the tool has ended');
  worker = installation.startWorker();
  await worker.ready;
  expect(await chat.reply()).toBe('Done.');
  expect(await resultsOf(chat)).toMatchObject([{ log: 'begun\nlifted\n' }, { stdout: 'begun\nlifted\n' }]);
  await chat.close();
}, 300_000);

test('an interruption ends a tool in the sandbox and the command that it waits for', async () => {
  const chat = await begin('hang');
  const first = expect(chat.reply()).rejects.toMatchObject({ code: 'TURN_FAILED', values: { outcome: 'interrupted' } });
  const { turnId } = await chat.send('Count.');
  await chat.interrupt();
  await first;
  expect(await chat.reply(turnId)).toBe('Done.');
  const [interrupted, counted] = await resultsOf(chat);
  expect(interrupted).toMatchObject({ isError: true, text: expect.stringMatching(/Interrupted on request/) as string });
  expect(counted).toMatchObject({ stdout: '0\n' });
  await chat.close();
}, 300_000);

test('a container killed under a tool: the model is told that it is not known what it did, and nothing is run again', async () => {
  const chat = await begin('break');
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  await runCommand('docker', ['kill', row?.containerName ?? '']);
  expect(await chat.reply()).toBe('Done.');
  const [unknown, log] = await resultsOf(chat);
  expect(unknown).toMatchObject({ isError: true, text: expect.stringContaining('It is not known whether this call took effect') as string });
  expect(log).toMatchObject({ stdout: 'begun\n' });
  await chat.close();
}, 300_000);
