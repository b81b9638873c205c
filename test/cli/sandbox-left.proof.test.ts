import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../e2e/support.ts';
import { createTestSandboxes, type TestSandboxes } from '../sandbox/lifecycle/support.ts';
import { builtCommandLine } from '../support/built-programs.ts';
import { openTerminal } from './open-terminal.ts';
import { runLine } from './support.ts';

const before = { ...process.env };
const id = 'sbx_left';
let parts: TestSandboxes;
let directory: string;
beforeAll(async () => {
  parts = await createTestSandboxes();
  Object.assign(process.env, { DATABASE_URL: parts.databaseUrl, LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: 'test-host' });
  directory = await mkdtemp(join(tmpdir(), 'longshore-cli-left-'));
  await parts.sandboxes.open({ sandboxId: id, tenantId: 'tenant' }, {});
});
afterAll(async () => {
  process.env = before;
  await parts[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const line = (...args: string[]) => runLine(undefined, ['sandbox', ...args]);
const stateOf = async (sandboxId: string) => (await parts.store.sandboxes.get(sandboxId))?.state;

test('a command whose errors no program reads any more is ended, and the sandbox goes back to its rest', async () => {
  await line('freeze', id);
  const words = ['sandbox', 'exec', id, 'yes an-error >&2'];
  const child = spawn(process.execPath, [await builtCommandLine(), ...words], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env } });
  const ended = once(child, 'close');
  await once(child.stderr, 'data');
  child.stderr.destroy();
  expect(await ended).toEqual([0, null]);
  expect(await stateOf(id)).toBe('frozen');
  await line('wake', id);
  const { handle } = await parts.sandboxes.open({ sandboxId: id, tenantId: 'tenant' }, {});
  expect((await handle.execs()).filter(({ command, state }) => command.startsWith('yes an-error') && state !== 'ended')).toEqual([]);
});

test('a copy that is interrupted leaves no part of a file, and the sandbox goes back to its rest', async () => {
  await line('exec', id, 'truncate -s 4G long');
  await line('freeze', id);
  const to = await mkdtemp(join(directory, 'copied-'));
  const words = ['sandbox', 'cp', `${id}:long`, to];
  const child = spawn(process.execPath, [await builtCommandLine(), ...words], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env } });
  const ended = once(child, 'close');
  while ((await readdir(to)).length === 0);
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  expect([await readdir(to), await stateOf(id)]).toEqual([[], 'frozen']);
  await line('exec', id, 'rm long');
  await line('wake', id);
}, 60_000);

test('a terminal that is closed leaves its shell, and the sandbox goes back to its rest', async () => {
  await line('freeze', id);
  const terminal = await openTerminal(['sandbox', 'shell', id]);
  await terminal.until('$ ');
  expect(await stateOf(id)).toBe('running');
  terminal.close();
  await until(async () => (await stateOf(id)) === 'frozen', 'the sandbox rests again');
  await line('wake', id);
}, 60_000);
