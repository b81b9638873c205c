import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runLine } from '../../cli/support.ts';
import { fixtureProgram } from '../../plugins/dialects/mcp/support.ts';
import { installAgents, resultsOf, until, type Installation } from '../support.ts';

/** A server of the host as an agent's file describes it. */
async function described(more: Record<string, unknown> = {}) {
  const { timeoutMs: _, ...program } = await fixtureProgram();
  return { ...program, ...more };
}

let installation: Installation;
let directory: string;
let mark: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-mcp-'));
  mark = join(directory, 'begun');
  const slow = { call: 'fix:slow', with: { ms: 120_000 } };
  installation = await installAgents({
    caller: {
      mcp: { fix: await described({ timeouts: { slow: '1s' } }), absent: await described({ command: 'no-such-program' }) },
      tools: ['fix:*', 'absent:*'],
      steps: [
        { call: 'fix:about_itself' },
        slow,
        { call: 'fix:count' },
        { say: 'One.' },
        { call: 'fix:count' },
        { say: 'Two.' },
        { call: 'fix:count' },
        { say: 'Three.' },
      ],
    },
    killer: {
      mcp: { long: await described() },
      tools: ['long:*'],
      steps: [{ call: 'long:about_itself' }, { call: 'long:slow', with: { ms: 120_000, mark } }, { call: 'long:count' }, { say: 'Killed.' }],
    },
    other: { mcp: { denied: await described() }, tools: ['shell:*'], steps: [{ say: 'Nothing.' }] },
  });
  installation.environment['LONGSHORE_HOST_PLUGINS'] = 'mcp:fix,mcp:absent,mcp:long';
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const line = async (...args: string[]) => (await runLine(installation.longshore, ['plugins', ...args])).out;
const reportOf = async (id: string) => (await installation.longshore.plugins.get(id)).reports[0];
const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });

test('servers are plugins of the list: those at work, those that cannot be reached, and those that the operator has not allowed', async () => {
  const listed = await line('ls');
  expect(listed).toMatch(/^fix +1\.2\.3\+[0-9a-f]{12} +mcp +loaded +10 /m);
  expect(listed).toMatch(/^absent +0 +mcp +failed +0 .*The server cannot be used: /m);
  expect(listed).toMatch(/^mcp:denied +failed +0 .*Plugin mcp:denied: the operator has not allowed/m);
  expect(await line('show', 'absent')).toMatch(/: failed, since [^]* {2}error {8}The server cannot be used: .*no-such-program.*; it is tried again\n/);
}, 300_000);

test('a call that is too long for its tool is cut and cancelled at the server; a server that is disabled is ended, and has no tools until it is enabled', async () => {
  const chat = await start('caller');
  expect(await chat.reply()).toBe('One.');
  const [{ pid }, late, count] = (await resultsOf(chat)) as [{ pid: number }, unknown, unknown];
  expect(late).toEqual({ text: 'fix:slow failed: it took longer than 1000 ms and was aborted', isError: true });
  // The server counts a hundred for a call that it was told to cancel.
  expect(count).toEqual(101);
  expect(await line('disable', 'fix')).toBe('fix is disabled; the workers apply it within seconds.\n');
  await until(async () => (await reportOf('fix'))?.alerts.at(-1)?.text === 'The server was ended, since an operator disabled it', 'the worker has ended it');
  expect((await reportOf('fix'))?.health).toBe('disabled');
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  const again = await chat.send('Again.');
  expect(await chat.reply(again.turnId)).toBe('Two.');
  expect((await resultsOf(chat)).at(-1)).toMatchObject({ isError: true });
  await line('enable', 'fix');
  await until(async () => (await reportOf('fix'))?.health === 'loaded', 'the worker has it again');
  await chat.send('Again.');
  expect(await chat.reply()).toBe('Three.');
  expect((await resultsOf(chat)).at(-1)).toEqual(1);
}, 300_000);

test('a server that is killed under a call is started again: the model is told, and so is the operator; a reload starts it anew, too', async () => {
  const chat = await start('killer');
  await until(async () => existsSync(mark), 'the server has the call');
  const { pid } = (await resultsOf(chat))[0] as { pid: number };
  process.kill(pid, 'SIGKILL');
  expect(await chat.reply()).toBe('Killed.');
  const [, cut, count] = await resultsOf(chat);
  const why = 'the MCP server long ended during this call, so it is not known whether the call took effect; the server is started again';
  expect(cut).toEqual({ text: `long:slow failed: ${why}`, isError: true });
  expect(count).toBe(1);
  await until(async () => (await reportOf('long'))?.alerts.at(-1)?.text === 'The server is available again', 'it is reported');
  expect(await line('show', 'long')).toMatch(
    /: loaded, since [^]* {2}error {8}.*: The server has ended \(.*\); it is tried again\n {2}info {9}.*: The server is available again\n/,
  );
  await line('reload', 'long');
  await until(async () => (await reportOf('long'))?.alerts.filter(({ text }) => text === 'The server is available again').length === 2, 'it was started anew');
  expect((await reportOf('long'))?.alerts.at(-2)?.text).toBe('The server has ended (an operator asked for it); it is tried again');
}, 300_000);
