import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeFence, probeFence, type Fence } from '../../../../src/plugins/isolates/fence/fence.ts';
import { startPluginProcess, type PluginProcess } from '../../../../src/plugins/isolates/plugin-process.ts';
import { until } from '../../../e2e/support.ts';

const asRoot = process.getuid?.() === 0 ? test : test.skip;
const READY = `process.stdout.write(JSON.stringify({ type: 'ready' }) + '\\n'); setInterval(() => 0, 1000);`;
let directory: string;
let script: string;
const started: PluginProcess[] = [];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-own-user-test-'));
  await chmod(directory, 0o755);
  await mkdir(join(directory, 'empty'));
  script = join(directory, 'ready.cjs');
  await writeFile(script, READY);
});
afterEach(async () => {
  for (const each of started) each.kill('the test is over');
  await Promise.all(started.splice(0).map(({ gone }) => gone));
});
afterAll(() => rm(directory, { recursive: true }));

function start(fence: Fence): PluginProcess {
  const made = startPluginProcess(fence, { path: script, directory: join(directory, 'empty') });
  started.push(made);
  return made;
}

async function userOf(pid: number | undefined): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return /^Uid:\t(\d+)\t\1\t\1\t\1$/m.exec(status)?.[1];
}

/** It may wait a while until it is buried by a process that is not ours. */
async function isDead(pid: number): Promise<boolean> {
  return !/^State:\t[^ZX]/m.test(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''));
}

/** Of data, open files, sizes of files and core dumps. */
async function limitsOf(pid: number | undefined): Promise<(string | undefined)[]> {
  const text = await readFile(`/proc/${pid}/limits`, 'utf8');
  const limit = (name: string) => new RegExp(`^Max ${name} +\\S+ +(\\S+)`, 'm').exec(text)?.[1];
  return [limit('data size') === 'unlimited' ? 'unlimited' : 'bounded', limit('open files'), limit('file size'), limit('core file size')];
}

/** A process that starts plugins' processes as a worker does, and says their ids once they run. */
async function otherWorker(fence: Fence, count: number, program = script) {
  const source = `const [count, program, ...args] = process.argv.slice(1); const pids = [];
    for (let i = 0; i < count; i += 1) { const child = require('child_process').spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
      child.stdout.once('data', () => pids.push(child.pid) === Number(count) && console.log(JSON.stringify(pids))); }`;
  const worker = spawn(process.execPath, ['-e', source, '--', String(count), ...fence.command(program)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(worker.stdout, 'data')) as [Buffer];
  return { worker, pids: JSON.parse(said.toString()) as number[] };
}

asRoot('100 processes of two workers have 100 users, and a worker that is killed leaves none of its own behind', async () => {
  const fence = await probeFence();
  const other = await otherWorker(fence, 50);
  const own = Array.from({ length: 50 }, () => start(fence));
  await Promise.all(own.map(({ ready }) => ready));
  const users = await Promise.all([...other.pids, ...own.map(({ pid }) => pid)].map(userOf));
  expect([new Set(users).size, users.includes(undefined), users.includes('0')]).toEqual([100, false, false]);
  other.worker.kill('SIGKILL');
  await until(async () => (await Promise.all(other.pids.map(isDead))).every(Boolean), 'the processes of the killed worker are dead');
});

test('a plugin that loops ends with its worker, with root and without', async () => {
  const loops = join(directory, 'loops.cjs');
  await writeFile(loops, `${READY.split(';')[0]}; for (;;);`);
  const root = await probeFence();
  const other = await withoutRoot(probeFence);
  expect(other.level).not.toBe('C');
  for (const fence of [root, other]) {
    const { worker, pids } = await otherWorker(fence, 1, loops);
    worker.kill('SIGKILL');
    await until(async () => isDead(pids[0] as number), 'it is dead');
  }
});

async function withoutRoot<Result>(work: () => Promise<Result>): Promise<Result> {
  const { getuid } = process;
  process.getuid = () => 1_000;
  try {
    return await work();
  } finally {
    Object.assign(process, { getuid });
  }
}

/** A machine that has these programs and no others; each is one of the machine's own or a script. */
async function machineWith(name: string, programs: Record<string, string>): Promise<Fence> {
  const folder = join(directory, name);
  await mkdir(folder);
  for (const [program, source] of Object.entries(programs)) {
    if (source.startsWith('/')) await symlink(source, join(folder, program));
    else await writeFile(join(folder, program), `#!/bin/sh\n${source}`, { mode: 0o755 });
  }
  return probeFence([folder]);
}

const [unshare, prlimit, sh, setpriv] = ['unshare', 'prlimit', 'sh', 'setpriv'].map((name) => `/usr/bin/${name}`) as [string, string, string, string];
const FEW_USERS = `case "$1" in --reuid=18*) echo 'setpriv: setresuid failed: Invalid argument' >&2; exit 127;; esac; exec ${setpriv} "$@"`;

const APART = 'files, sockets and processes of its own';
const ALL =
  'no network, no files or sockets but its own, no other processes, a filter of system calls, no shared memory, limits of memory and files, a user of its own, control groups';

asRoot.each([
  ['perl and nothing else', { perl: '/usr/bin/perl' }, `level A (${ALL}, {model})`],
  ['a perl that does not run', { perl: 'exit 1', sh }, `level C (limits of memory and files, {model}; missing: ${APART}, no network, a user of its own)`],
  ['no perl', { unshare, prlimit, sh, setpriv }, `level C (no network, limits of memory and files, a user of its own, {model}; missing: ${APART})`],
  [
    'an unshare that is not allowed',
    { unshare: 'exit 1', prlimit, sh, setpriv },
    `level C (limits of memory and files, a user of its own, {model}; missing: ${APART}, no network)`,
  ],
  ['no setpriv', { unshare, prlimit, sh }, `level C (no network, limits of memory and files, {model}; missing: ${APART}, a user of its own)`],
  [
    'only the usual users',
    { unshare, prlimit, sh, setpriv: FEW_USERS },
    `level C (no network, limits of memory and files, a user that it may share with another plugin, {model}; missing: ${APART}, a user of its own)`,
  ],
  ['nothing at all', {}, `level C ({model}; missing: ${APART}, no network, limits of memory and files, a user of its own)`],
])('on a machine with %s, plugins run, and the level says what is missing', async (name, programs, level) => {
  const fence = await machineWith(name.replaceAll(' ', '-'), programs);
  expect(describeFence(fence)).toBe(level.replace('{model}', "Node's permission model"));
  const made = start(fence);
  await made.ready;
  expect(await limitsOf(made.pid)).toEqual(fence.has.includes('limits of memory and files') ? ['bounded', '64', '0', '0'] : expect.anything());
  expect((await userOf(made.pid)) === '0').toBe(!fence.has.some((part) => part.startsWith('a user')));
});
