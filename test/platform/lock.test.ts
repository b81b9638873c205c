import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { withLock } from '../../src/platform/lock.ts';
import { isAlive, isGone, nameProcess } from '../../src/platform/process-identity.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { builtModule } from '../support/built-programs.ts';

const testWithProc = existsSync('/proc/self/stat') ? test : test.skip;
/** Its first thread ends, which makes it a zombie, and another goes on. */
const TWO_THREADS = `
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
ctypes.CDLL(None).pthread_exit(None)`;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-lock-'));
});
afterEach(() => rm(directory, { recursive: true }));

const lock = () => join(directory, 'lock');
const take = () => withLock(lock(), async () => 'done');
/** One look at the lock, without waiting. */
const expectHeld = () => expect(withLock(lock(), async () => 'done', AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' });
const deadProcess = async () => Number((await runCommand('sh', ['-c', 'echo $$'])).stdout);

test('work under one lock never overlaps', async () => {
  let inside = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
  };
  await Promise.all([1, 2, 3].map(() => withLock(lock(), work)));
  expect(most).toBe(1);
  expect(await readdir(directory)).toEqual([]);
});

test('a lock is given back when the work fails', async () => {
  await expect(withLock(lock(), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await readdir(directory)).toEqual([]);
});

describe('a lock that was left', () => {
  afterEach(async () => {
    expect(await take()).toBe('done');
    expect(await readdir(directory)).toEqual([]);
  });

  test('by a process that has ended', async () => {
    await symlink(`${await deadProcess()} 0123`, lock());
  });

  testWithProc('by a process whose id another one has now', async () => {
    const [pid, start, ...boot] = (await nameProcess(process.pid)).split('-');
    await symlink(`${pid}-${Number(start) - 1}-${boot.join('-')} 0123`, lock());
  });

  testWithProc('before the machine was started again', async () => {
    const [pid, start] = (await nameProcess(process.pid)).split('-');
    await symlink(`${pid}-${start}-00000000-0000-0000-0000-000000000000 0123`, lock());
  });

  test('while its process took over another one', async () => {
    for (const suffix of ['', '.takeover', '.takeover.takeover']) await symlink(`${await deadProcess()} 0123`, `${lock()}${suffix}`);
  });
});

describe('the lock file of a version before', () => {
  test('is respected while its process lives, and taken over afterwards', async () => {
    const holder = spawn('sleep', ['1000']);
    await writeFile(lock(), String(holder.pid));
    await expectHeld();
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(await take()).toBe('done');
  });

  test('is taken over when its process was killed before it wrote its id', async () => {
    await writeFile(lock(), '');
    await expectHeld();
    const before = Date.now() / 1000 - 6;
    await utimes(lock(), before, before);
    expect(await take()).toBe('done');
  });
});

testWithProc('a process that was killed and not reaped has ended', async () => {
  const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!; exec sleep 1000']);
  try {
    const child = Number(await once(createInterface(parent.stdout), 'line'));
    const name = await nameProcess(child);
    expect(await isGone(name)).toBe(false);
    process.kill(child, 'SIGKILL');
    while (!(await isGone(name))) await new Promise((resolve) => setImmediate(resolve));
    expect(isAlive(child)).toBe(true);
  } finally {
    parent.kill('SIGKILL');
    await once(parent, 'exit');
  }
});

testWithProc('a process has not ended while one of its threads runs', async () => {
  const holder = spawn('python3', ['-c', TWO_THREADS]);
  const ended = once(holder, 'exit');
  const name = await nameProcess(holder.pid!);
  try {
    while (!/^State:\s+Z/m.test(await readFile(`/proc/${holder.pid}/status`, 'utf8'))) await new Promise((resolve) => setImmediate(resolve));
    expect(await isGone(name)).toBe(false);
  } finally {
    holder.kill('SIGKILL');
    await ended;
  }
  expect(await isGone(name)).toBe(true);
});

testWithProc(
  'never two processes hold a lock while holders and waiters are killed',
  async () => {
    // Only one process can listen on an abstract socket, and the kernel removes it with the process.
    const program = `
    import { once } from 'node:events';
    import { createServer } from 'node:net';
    import { withLock } from '${await builtModule('platform/lock.ts')}';
    for (;;) await withLock(${JSON.stringify(lock())}, async () => {
      const server = createServer().listen(${JSON.stringify(`\0${directory}`)});
      await once(server, 'listening');
      console.log('inside');
      server.close();
      await once(server, 'close');
    });`;
    const faults: string[] = [];
    const ends: Promise<unknown>[] = [];
    const start = (): ChildProcess => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'pipe'] });
      child.stderr.setEncoding('utf8').on('data', (text: string) => faults.push(text));
      ends.push(once(child, 'exit'));
      return child;
    };
    const running = [start(), start(), start()];
    try {
      for (let killed = 0; killed < 6; killed += 1) {
        const which = killed % running.length;
        await Promise.race([once(running[which]!.stdout!, 'data'), ends[killed]]);
        running[which]!.kill('SIGKILL');
        running[which] = start();
      }
      await Promise.all(running.map((child) => once(child.stdout!, 'data')));
    } finally {
      for (const child of running) child.kill('SIGKILL');
      await Promise.all(ends);
    }
    expect(faults).toEqual([]);
    expect(await take()).toBe('done');
  },
  120_000,
);
