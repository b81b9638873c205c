import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import type { Chat } from '../../../src/client.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { installAgents, resultsOf, until, type Installation, type ScriptedStep, type WorkerProcess } from '../support.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/mcp', import.meta.url));

function guest(idle: Record<string, unknown>, steps: ScriptedStep[]) {
  const server = { command: 'node', args: ['guest-server.cjs'], directory: '/home/user/mcp', where: 'sandbox', timeouts: { wait: '1s' } };
  return {
    mcp: { tally: { ...server, env: { SECRET: '${env.TALLY_SECRET}' } } },
    tools: ['tally:*', 'code:*'],
    sandbox: { idle, assets: [{ from: FIXTURES, to: '/home/user/mcp' }] },
    steps,
  };
}
const count = { call: 'tally:count' };
const append = (line: string, until: string): ScriptedStep => ({ call: 'tally:append', with: { line, until } });
const look = (line: string, until: string): ScriptedStep => ({ call: 'tally:look', with: { line, until } });

const code = { call: 'code:run', with: { language: 'python', code: "from longshore import tools\nprint(tools.tally.look(line='x'), tools.tally.count())" } };

const growing: ScriptedStep[] = [
  { call: 'tally:grow', with: { line: 'one' } },
  { call: 'tally:one' },
  { say: 'Grown.' },
  { call: 'tally:more' },
  { say: 'More.' },
  count,
  { say: 'Disabled.' },
  count,
  { call: 'tally:one' },
  { say: 'Enabled.' },
];
const still: ScriptedStep[] = [count, { call: 'tally:one' }, { say: 'One.' }, { call: 'code:run', with: { language: 'bash', code: 'true' } }, { say: 'Two.' }];

let installation: Installation;
let worker: WorkerProcess;
let home: string;
beforeAll(async () => {
  // What workers keep of the server's tools goes with it; their bundles are those of all.
  home = await mkdtemp(join(tmpdir(), 'longshore-mcp-'));
  await symlink(join(loadConfig().LONGSHORE_HOME, 'workflow-bundles'), join(home, 'workflow-bundles'));
  installation = await installAgents({
    crashing: guest({ freeze: 0 }, [count, append('a', 'go-on'), count, code, { say: 'Written.' }]),
    resting: guest({ freeze: '200ms', stop: '2s' }, [count, { call: 'tally:secret' }, { say: 'One.' }, count, { say: 'Two.' }, count, { say: 'Three.' }]),
    growing: guest({ freeze: 0 }, growing),
    still: guest({ freeze: 0 }, still),
    dying: guest({ freeze: 0 }, [append('b', 'never'), look('c', 'go-on'), { call: 'tally:wait', with: { line: 'd', until: 'never' } }, { say: 'Dead.' }]),
  });
  Object.assign(installation.environment, { TALLY_SECRET: 'hunter2', LONGSHORE_HOME: home });
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await rm(home, { recursive: true });
});

const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });
const textsOf = async (chat: Chat) => (await resultsOf(chat)).map((result) => result['text'] ?? result);

/** Runs a command in the conversation's container, past all of this project. */
async function within(chat: Chat, command: string): Promise<string> {
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  return (await runCommand('docker', ['exec', '--user', 'user', row?.containerName ?? '', 'bash', '-c', command])).stdout;
}
const logOf = (chat: Chat) => within(chat, 'cat /home/user/mcp/log');

test('a call that is under way when its worker is killed takes effect once, and the server lives on, for code as well', async () => {
  worker = installation.startWorker();
  await worker.ready;
  const chat = await start('crashing');
  await until(async () => (await logOf(chat)) === 'begin a\n', 'the server has the call');
  await worker.kill();
  await within(chat, 'touch /home/user/mcp/go-on');
  worker = installation.startWorker();
  await worker.ready;
  expect(await chat.reply()).toBe('Written.');
  expect(await textsOf(chat)).toEqual([1, 'wrote a', 2, expect.objectContaining({ stdout: 'wrote x 3\n' })]);
  expect(await logOf(chat)).toBe('begin a\nend a\nbegin x\nend x\n');
  await chat.close();
}, 300_000);

test('a server goes on after a freeze with what it remembers; after a stop it is started again, and the model is told', async () => {
  const chat = await start('resting');
  expect(await chat.reply()).toBe('One.');
  await until(async () => (await chat.status()).sandboxTier === 'frozen', 'the sandbox is frozen');
  await chat.send('Again.');
  expect(await chat.reply()).toBe('Two.');
  await until(async () => (await chat.status()).sandboxTier === 'stopped', 'the sandbox is stopped');
  await chat.send('Again.');
  expect(await chat.reply()).toBe('Three.');
  expect(await textsOf(chat)).toEqual([1, 'hunter2 in /home/user/mcp', 2, 1]);
  const notes = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
  expect(notes).toEqual([
    'From tally:count: The MCP server tally is started again, since the processes of its sandbox had ended: what it had in its memory is gone.',
  ]);
  await chat.close();
}, 300_000);

test('when the container dies, a call that may be repeated is, and what became of another is unknown; each tool has its own time limit', async () => {
  const chat = await start('dying');
  const die = async (after: string) => {
    await until(async () => (await logOf(chat)).endsWith(after), `the server has ${after}`);
    const row = await installation.store.sandboxes.ofConversation(chat.id);
    await runCommand('docker', ['kill', row?.containerName ?? '']);
  };
  await die('begin b\n');
  await die('begin c\n');
  await until(async () => (await logOf(chat)).endsWith('begin c\nbegin c\n'), 'it was called again');
  await within(chat, 'touch /home/user/mcp/go-on');
  expect(await chat.reply()).toBe('Dead.');
  const [unknown, repeated, late] = await textsOf(chat);
  expect(unknown).toMatch(/the sandbox's container died while this command ran, and it was not run again: mcp-call tally tools\/call/);
  expect(repeated).toBe('wrote c');
  expect(late).toMatch(/it took longer than 1000 ms, and the MCP server tally was told to stop it/);
  // The server is told after the call has ended.
  const all = 'begin b\nbegin c\nbegin c\nend c\nbegin d\n';
  await until(async () => (await logOf(chat)) !== all, 'the server was told to stop');
  expect(await logOf(chat)).toBe(`${all}cancelled\n`);
  await chat.close();
}, 300_000);

test('tools that a server gets in a conversation are of that one alone, from its next step on, whichever worker makes it; a server that is disabled or named no more is ended', async () => {
  const isServed = async (chat: Chat) => (await within(chat, 'pgrep -f ^node.guest-server.cjs')) !== '';
  const [chat, other] = [await start('growing'), await start('still')];
  expect(await chat.reply()).toBe('Grown.');
  expect(await other.reply()).toBe('One.');
  expect(await textsOf(chat)).toEqual(['has one', 'called one']);
  expect(await textsOf(other)).toEqual([1, expect.stringMatching(/^Unknown tool "tally:one"/)]);
  await within(chat, 'touch /home/user/mcp/more');
  await until(async () => !(await within(chat, 'ls /home/user/mcp')).includes('more'), 'the server has seen it');
  await chat.send('Go on.');
  expect(await chat.reply()).toBe('More.');
  expect((await textsOf(chat)).at(-1)).toBe('called more');

  const { plugins } = installation.longshore;
  const healthIs = (health: string) => until(async () => (await plugins.get('tally')).reports[0]?.health === health, `it is ${health}`);
  await plugins.enable('tally', false);
  await healthIs('disabled');
  await chat.send('Go on.');
  expect(await chat.reply()).toBe('Disabled.');
  expect((await textsOf(chat)).at(-1)).toMatch(/^Unknown tool "tally:count"/);
  await until(async () => !(await isServed(chat)), 'its process is ended');
  await plugins.enable('tally', true);
  await healthIs('loaded');
  await chat.send('Go on.');
  expect(await chat.reply()).toBe('Enabled.');
  // The new process has the tools that it begins with.
  expect((await textsOf(chat)).slice(-2)).toEqual([1, expect.stringMatching(/^Unknown tool "tally:one"/)]);
  await chat.close();

  expect(await isServed(other)).toBe(true);
  await worker.kill();
  const file = join(installation.environment['LONGSHORE_AGENTS'] ?? '', 'still.yaml');
  const { mcp: _, ...rest } = parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  await writeFile(file, stringify({ ...rest, tools: ['code:*'] }));
  worker = installation.startWorker();
  await worker.ready;
  await other.send('Go on.');
  expect(await other.reply()).toBe('Two.');
  await until(async () => !(await isServed(other)), 'the server that the agent names no more is ended');
  await other.close();
}, 300_000);
