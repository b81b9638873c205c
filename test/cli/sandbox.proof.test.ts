import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDetachKeys } from '../../src/cli/sandbox/detach-keys.ts';
import type { ConversationState } from '../../src/contracts/conversation.ts';
import { createTestSandboxes, type TestSandboxes } from '../sandbox/lifecycle/support.ts';
import { newConversation, statusOf } from '../store/support.ts';
import { builtCommandLine } from '../support/built-programs.ts';
import { openTerminal } from './open-terminal.ts';
import { runLine } from './support.ts';

const before = { ...process.env };
const id = 'sbx_own';
let parts: TestSandboxes;
let directory: string;
let conversationId: string;
beforeAll(async () => {
  parts = await createTestSandboxes();
  Object.assign(process.env, {
    DATABASE_URL: parts.databaseUrl,
    LONGSHORE_INSTALLATION: parts.installation,
    LONGSHORE_HOST_ID: 'test-host',
    CLI_TEST_SECRET: 'hunter2-hunter2',
  });
  directory = await mkdtemp(join(tmpdir(), 'longshore-cli-sandbox-'));
  conversationId = await newConversation(parts.store, { state: 'idle' });
  await parts.sandboxes.open({ sandboxId: id, tenantId: 'tenant', conversationId }, { labels: { team: 'blue' }, secrets: { KEY: '${env.CLI_TEST_SECRET}' } });
});
afterAll(async () => {
  process.env = before;
  await parts[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const line = (...args: string[]) => runLine(undefined, ['sandbox', ...args]);
const stateOf = async (sandboxId: string) => (await parts.store.sandboxes.get(sandboxId))?.state;
const conversationIs = (state: ConversationState) => parts.store.conversations.saveStatus(statusOf(conversationId, { state }), []);

test('sandboxes are listed by label and state, and shown with whose they are', async () => {
  const listed = async (...filter: string[]) => JSON.parse((await line('ls', '--json', ...filter)).out) as { sandboxId: string }[];
  expect(await listed('--label', 'team=blue')).toMatchObject([{ sandboxId: id, state: 'running', conversationId }]);
  expect(await listed('--label', 'team=red')).toEqual([]);
  expect(await listed('--state', 'stopped')).toEqual([]);
  expect((await line('ls')).out).toMatch(
    new RegExp(`^SANDBOX +STATE +CONVERSATION +TEMPLATE +HOST +USED\n${id} +running +${conversationId} +- +test-host +20`),
  );
  expect(await line('ls', '--label', 'team')).toEqual({ code: 2, out: '', err: '--label: "team" is no label. Write name=value\n' });
  const shown = await line('show', id);
  expect(shown).toMatchObject({ code: 0, err: '' });
  expect(shown.out).toContain(`${id}: running, of conversation ${conversationId} (idle), tenant tenant\n`);
  expect(shown.out).toContain('template none, no network access, team=blue\n');
  expect(JSON.parse((await line('show', conversationId, '--json')).out)).toMatchObject({ sandboxId: id, tier: 'running', conversation: 'idle' });
  expect(await line('show', 'sbx_nobody')).toEqual({ code: 1, out: '', err: 'No sandbox "sbx_nobody". List them with: longshore sandbox ls\n' });
});

/** As `longshore sandbox … | head`. */
async function readOnce(...words: string[]): Promise<void> {
  const child = spawn(process.execPath, [await builtCommandLine(), 'sandbox', ...words], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env } });
  const ended = once(child, 'close');
  await once(child.stdout, 'data');
  child.stdout.destroy();
  expect(await ended).toEqual([0, null]);
}

test('a command whose output no program reads any more is ended, and the sandbox goes back to its rest', async () => {
  await line('freeze', id);
  await readOnce('exec', id, 'yes a-line-of-output');
  expect(await stateOf(id)).toBe('frozen');
  await line('wake', id);
  const { handle } = await parts.sandboxes.open({ sandboxId: id, tenantId: 'tenant' }, {});
  expect((await handle.execs()).filter(({ command, state }) => command.startsWith('yes') && state !== 'ended')).toEqual([]);
});

test('one who follows the output of a command and stops reading leaves the command as it is, and the sandbox as it was', async () => {
  const { out } = await line('exec', id, '--background', 'yes another-line');
  const execId = out.trim();
  await line('freeze', id);
  await readOnce('logs', id, execId);
  expect(await stateOf(id)).toBe('frozen');
  await line('wake', id);
  const { handle } = await parts.sandboxes.open({ sandboxId: id, tenantId: 'tenant' }, {});
  expect((await handle.execs()).find((exec) => exec.execId === execId)?.state).toBe('running');
  await handle.kill(execId, 'SIGKILL');
});

test('a command streams, is given our input and arguments as they are, and ends us with its exit code', async () => {
  const told = await runLine(undefined, ['sandbox', 'exec', id, '--env', 'NAME=a b', '--cwd', '/tmp', '--', 'cat; pwd; echo "$NAME" >&2; exit 7'], {
    input: 'in\n',
  });
  expect(told).toEqual({ code: 7, out: 'in\n/tmp\n', err: 'a b\n' });
  expect(await line('exec', id, '--', 'printf', '%s|', "it's", '$HOME', '-x')).toEqual({ code: 0, out: "it's|$HOME|-x|", err: '' });
  for (const [signal, code] of Object.entries({ TERM: 143, BUS: 135, USR1: 138, SYS: 159 }))
    expect(await line('exec', id, `kill -${signal} $$`)).toMatchObject({ code });
  expect(await line('exec', id, '--timeout', '200ms', 'sleep 60')).toEqual({ code: 124, out: '', err: 'longshore: the time limit was reached\n' });
  expect(await line('exec', id, 'echo $KEY')).toMatchObject({ out: expect.not.stringContaining('hunter2') as string });
});

test('a command runs as the user that is named, where there is one', async () => {
  expect(await line('exec', id, '--user', 'user', '--', 'id -un')).toEqual({ code: 0, out: 'user\n', err: '' });
  const err = `Sandbox "${id}" has no user "root" for commands, only user. Commands of a sandbox cannot run as root; put what needs root under setup in a template\n`;
  expect(await line('exec', id, '--user', 'root', '--', 'id')).toEqual({ code: 1, out: '', err });
});

test('Ctrl-C interrupts a command', async () => {
  const interrupt = new AbortController();
  const running = runLine(undefined, ['sandbox', 'exec', id, 'trap "echo interrupted; exit 3" INT; touch /tmp/begun; sleep 60 & wait'], {
    interrupt: interrupt.signal,
  });
  const { handle } = await parts.sandboxes.open({ sandboxId: id, tenantId: 'tenant', conversationId }, {});
  while (!(await handle.fileExists('/tmp/begun')));
  interrupt.abort();
  expect(await running).toEqual({ code: 130, out: 'interrupted\n', err: '' });
});

test('commands are listed, and the output of one is read from an offset', async () => {
  const begun = await line('exec', id, '--background', 'echo 0123456789; echo problem >&2');
  const execId = begun.out.trim();
  expect(begun.err).toBe(`See it with: longshore sandbox logs ${id} ${execId}\n`);
  expect(await line('logs', id, execId, '--from', '4')).toEqual({ code: 0, out: '456789\n', err: 'problem\n' });
  expect((await line('logs', id)).out).toMatch(new RegExp(`${execId} +ended +0 +\\d+\\.\\d s +11 +8 +20.{17} +echo 0123456789; echo problem >&2\n`));
  expect(await line('logs', id, 'call_none')).toEqual({
    code: 1,
    out: '',
    err: `No exec "call_none" in sandbox "${id}". List the existing ones with execs().\n`,
  });
});

test('files and directories go both ways, and what cannot be copied is reported', async () => {
  await mkdir(join(directory, 'tree/below'), { recursive: true });
  await writeFile(join(directory, 'tree/below/file'), 'content');
  await symlink('/etc/passwd', join(directory, 'tree/link'));
  const up = await line('cp', join(directory, 'tree'), `${id}:`);
  expect(up).toMatchObject({ code: 1, err: 'link: is a link\n1 could not be copied.\n' });
  expect(await line('exec', id, 'find tree | sort')).toMatchObject({ out: 'tree\ntree/below\ntree/below/file\n' });
  expect(await line('cp', join(directory, 'tree/below/.'), `${conversationId}:flat`)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^1 file, /) as string,
  });
  expect(await line('exec', id, 'echo back >> flat/file')).toMatchObject({ code: 0 });
  expect(await line('cp', `${id}:flat/file`, `${directory}/`)).toEqual({ code: 0, out: '1 file, 12 bytes.\n', err: '' });
  expect(await readFile(join(directory, 'file'), 'utf8')).toBe('contentback\n');
  expect(await line('cp', `${id}:/home/user/flat`, join(directory, 'new'))).toMatchObject({ code: 0, err: '' });
  expect(await readFile(join(directory, 'new/file'), 'utf8')).toBe('contentback\n');
  expect(await line('cp', `${id}:nothing`, directory)).toEqual({
    code: 1,
    out: '',
    err: 'No such file or directory: nothing. Check the path, and list the directory above it to see what is there.\n',
  });
  expect(await line('cp', 'a', 'b')).toMatchObject({ code: 2 });
  const status = statusOf('report-7', { state: 'idle' });
  await parts.store.conversations.create({ ...status, status });
  const chosen = { sandboxId: 'sbx_chosen', tenantId: 'tenant', conversationId: 'report-7' };
  await using opened = await parts.sandboxes
    .open(chosen, {})
    .then(({ handle }) => ({ handle, [Symbol.asyncDispose]: () => parts.sandboxes.destroy(chosen.sandboxId) }));
  expect(await line('cp', join(directory, 'file'), 'report-7:')).toMatchObject({ code: 0, out: '1 file, 12 bytes.\n' });
  expect(await opened.handle.readFile('file', { encoding: 'utf-8' })).toBe('contentback\n');
  expect(await line('cp', 'report-7:file', join(directory, 'a:b'))).toMatchObject({ code: 0 });
  expect(await line('cp', 'report-8:file', directory)).toMatchObject({ code: 1, err: 'No sandbox "report-8". List them with: longshore sandbox ls\n' });
});

test('a sandbox is brought to rest, wakes for a command and rests again; a paused conversation keeps its command held', async () => {
  expect(await line('freeze', id)).toEqual({ code: 0, out: `${id}: frozen.\n`, err: '' });
  expect(await line('exec', id, 'echo awake')).toMatchObject({ code: 0, out: 'awake\n' });
  expect(await stateOf(id)).toBe('frozen');
  await conversationIs('paused');
  const held = `Sandbox "${id}" belongs to conversation "${conversationId}", which is paused, and its running command would continue. Resume it (longshore resume ${conversationId}), or add --force\n`;
  expect(await line('exec', id, 'true')).toEqual({ code: 1, out: '', err: held });
  expect(await line('exec', id, '--force', 'true')).toMatchObject({ code: 0 });
  expect(await line('wake', id, '--force')).toMatchObject({ out: `${id}: running.\n` });
  await conversationIs('running');
  expect(await line('stop', id)).toMatchObject({ code: 1, err: expect.stringContaining('which is using it. Pause it') as string });
  await conversationIs('idle');
  expect((await line('hibernate', id)).out).toMatch(new RegExp(`^${id}: stopped and not hibernated: .+\\.\n$`));
  expect(await line('exec', id, 'cat flat/file')).toMatchObject({ out: 'contentback\n' });
  expect(await stateOf(id)).toBe('stopped');
  expect(await line('archive', id)).toMatchObject({ out: `${id}: archived.\n` });
  expect(await line('wake', id)).toMatchObject({ out: `${id}: running.\n` });
});

test('snapshots, forks and what is restored are listed and removed; that of an open conversation only by force', async () => {
  const { snapshotId } = JSON.parse((await line('snapshot', id, '--name', 'first', '--json')).out) as { snapshotId: string };
  expect((await line('snapshots', id)).out).toMatch(new RegExp(`${snapshotId} +${id} +first +no +test-host +no`));
  expect(await line('snapshots', conversationId)).toEqual(await line('snapshots', id));
  const restored = (await line('restore', snapshotId, '--ttl', '1ms')).out.trim();
  expect(await line('exec', restored, 'cat flat/file')).toMatchObject({ out: 'contentback\n' });
  const forked = (await line('fork', id)).out.trim();
  expect(await line('exec', forked, 'cat flat/file')).toMatchObject({ out: 'contentback\n' });
  expect((await line('gc')).out).toContain(`${restored}: expired; destroyed.\n`);
  expect(await line('rm', forked, snapshotId)).toEqual({
    code: 2,
    out: '',
    err: 'rm: the input is not a terminal, so it cannot ask for confirmation. Add --yes\n',
  });
  const refused = await line('rm', '--yes', forked, id);
  expect(refused).toEqual({
    code: 1,
    out: '',
    err: `Sandbox "${id}" belongs to conversation "${conversationId}", which is idle and has its files there. Close it (longshore close ${conversationId}), or add --force\n`,
  });
  expect(await line('rm', '--yes', forked, snapshotId)).toEqual({ code: 0, err: '', out: `${forked}: removed.\n${snapshotId}: removed.\n` });
  expect(await stateOf(forked)).toBe('destroyed');
});

test('a shell is a terminal: of our size, let go with Ctrl-], come back to, and ended with its code', async () => {
  expect(await line('shell', id)).toMatchObject({ code: 2, err: 'shell: input and output are not a terminal. Use: longshore sandbox exec\n' });
  const first = await openTerminal(['sandbox', 'shell', id]);
  await first.until('$ ');
  first.type('stty size; kept=here; PS1="ready> "\r');
  await first.until('31 97');
  await first.until('ready> ');
  // A job of its own says that it has begun: a Ctrl-C while bash starts one after another command reaches bash alone, which then waits for the job.
  first.type(`sh -c 'echo beg"un"; exec sleep 60'\r`);
  await first.until('begun\r');
  first.type('\x03');
  await first.until('ready> ');
  first.type('echo after $?\r');
  await first.until('after 130');
  first.type('\x1d');
  expect(await first.ended).toBe(0);
  const [, terminal = ''] = /--attach (\S+)/.exec(first.shown()) ?? [];
  const second = await openTerminal(['sandbox', 'shell', id, '--attach', terminal]);
  await second.until('ready> ');
  second.type('echo $kept again; exit 5\r');
  expect(await second.ended).toBe(5);
  expect(second.shown()).toContain('here again');
});

test('~. lets go at the beginning of a line only, and ~~ is one ~', () => {
  const typed = (...texts: string[]) => {
    const keys = createDetachKeys();
    return texts.map((text) => {
      const { pass, detach } = keys.take(Buffer.from(text));
      return `${pass.toString()}${detach ? '!' : ''}`;
    });
  };
  expect(typed('~.')).toEqual(['!']);
  expect(typed('ls ~.\r', '~', '.x')).toEqual(['ls ~.\r', '', '!']);
  expect(typed('~~/a\r~x')).toEqual(['~/a\r~x']);
  expect(typed('a\x1db')).toEqual(['a!']);
});
