import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, LocalSupervisor, until } from './local-supervisor.ts';

let supervisor: LocalSupervisor;
beforeEach(async () => {
  supervisor = await LocalSupervisor.start();
});
afterEach(() => supervisor[Symbol.asyncDispose]());

const sha256 = (...parts: Buffer[]): string => createHash('sha256').update(Buffer.concat(parts)).digest('hex');

describe('output', () => {
  test('the two streams are kept apart, byte for byte, with NULs and bytes that are no text', async () => {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    const result = await supervisor.handle.run(String.raw`printf 'a\0\377b'; printf '\0\0err\200' >&2`, {
      execId: 'bytes',
      onStdout: (chunk) => stdout.push(chunk),
      onStderr: (chunk) => stderr.push(chunk),
    });
    expect(Buffer.concat(stdout)).toEqual(Buffer.from([97, 0, 255, 98]));
    expect(Buffer.concat(stderr)).toEqual(Buffer.from([0, 0, 101, 114, 114, 128]));
    expect(supervisor.journal('bytes', 'stdout')).toEqual(Buffer.concat(stdout));
    expect(result).toMatchObject({ status: 'exited', exitCode: 0, stdout: { totalBytes: 4 }, stderr: { totalBytes: 6 } });
  });

  test('a long output is previewed by head and tail, cut between characters', async () => {
    const { stdout } = await supervisor.handle.run(`for i in $(seq 1 20000); do printf 'ä€😀%d ' $i; done`, { execId: 'long' });
    expect(stdout.truncated).toBe(true);
    expect(stdout.text).toMatch(/^ä€😀1 /);
    expect(stdout.text).toMatch(/ä€😀20000 $/);
    expect(stdout.text).not.toContain('\uFFFD');
    expect(stdout.text).toContain(`bytes left out; what was kept is in ${stdout.path}`);
    expect(readFileSync(stdout.path).length).toBe(stdout.totalBytes);
  });

  test('what exceeds the cap is counted and dropped, and the command is not held up', async () => {
    const result = await supervisor.handle.run('head -c 3000000 /dev/zero', { execId: 'capped', maxOutputBytes: 1000 });
    expect(result).toMatchObject({ status: 'exited', exitCode: 0, stdout: { totalBytes: 3_000_000, truncated: true } });
    expect(supervisor.journal('capped', 'stdout').length).toBe(1000);
  });

  test('a reader may begin at any byte', async () => {
    await supervisor.handle.run('printf 0123456789; printf abcdef >&2', { execId: 'offsets' });
    let text = '';
    await supervisor.handle.attach('offsets', { stdout: 7, stderr: 4 }, { onStdout: (chunk) => (text += chunk), onStderr: (chunk) => (text += chunk) });
    expect(text).toBe('789ef');
  });

  test('a slow reader holds up neither the command nor the memory of the supervisor', async () => {
    let read = 0;
    let open!: () => void;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const followed = supervisor.connection.run(
      {
        execId: 'slow',
        run: { command: 'head -c 30000000 /dev/urandom' },
        cwd: '.',
        env: {},
        timeoutMs: 0,
        maxOutputBytes: 1e8,
        stdin: 'empty',
      },
      {
        previewBytes: 100,
        onStdout: async (chunk) => {
          await gate;
          read += chunk.length;
        },
      },
    );
    await until(async () => (await supervisor.connection.info('slow')).state === 'ended');
    const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${supervisor.process.pid}/status`, 'utf8'))?.[1];
    expect(Number(resident)).toBeLessThan(25_000);
    open();
    await followed;
    expect(read).toBe(30_000_000);
  });

  test('on a full volume the command goes on, and its end is still recorded', async () => {
    const journal = join(supervisor.directory, 'execs');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', journal]);
    try {
      const result = await supervisor.handle.run('head -c 3000000 /dev/zero; exit 4', { execId: 'full' });
      expect(result).toMatchObject({ status: 'exited', exitCode: 4, stdout: { totalBytes: 3_000_000, truncated: true } });
      expect(JSON.parse(supervisor.journal('full', 'exit.json').toString())).toMatchObject({ exitCode: 4 });
      await expect(supervisor.handle.run('exit 5', { execId: 'fuller' })).resolves.toMatchObject({ exitCode: 5 });
      await supervisor.handle.forget('full');
      await supervisor.handle.run('exit 6', { execId: 'room' });
      expect((await supervisor.handle.attach('fuller')).exitCode).toBe(5);
    } finally {
      await until(() => spawnSync('umount', ['--lazy', journal]).status === 0);
    }
  });

  test('a background child may outlive its command, whose end does not wait for it', async () => {
    const result = await supervisor.handle.run('sleep 1000 & echo $!', { execId: 'background' });
    expect(result).toMatchObject({ status: 'exited', exitCode: 0 });
    expect(isAlive(Number(result.stdout.text))).toBe(true);
    expect(await supervisor.handle.kill('background', 'SIGKILL')).toBe(true);
    await until(() => !isAlive(Number(result.stdout.text)));
  });
});

describe('stdin', () => {
  test('a command gets what it is given, and then the end', async () => {
    const result = await supervisor.handle.run('cat; echo end', { stdin: 'line\0\n' });
    expect(supervisor.journal(result.execId, 'stdout').toString()).toBe('line\0\nend\n');
  });

  test('large input arrives whole, at the pace of the command', async () => {
    const bytes = randomBytes(5_000_000);
    const result = await supervisor.handle.run('sleep 0.3; sha256sum', { stdin: bytes });
    expect(result.stdout.text).toContain(sha256(bytes));
  });

  test('a command that does not read its input still ends well', async () => {
    expect(await supervisor.handle.run('head -c 3', { stdin: randomBytes(2_000_000) })).toMatchObject({ status: 'exited', stdout: { totalBytes: 3 } });
  });

  test('input can be given bit by bit to a command that was started before', async () => {
    await supervisor.connection.start({
      execId: 'chat',
      run: { argv: ['cat'] },
      cwd: '.',
      env: {},
      timeoutMs: 0,
      maxOutputBytes: 1e6,
      stdin: 'open',
    });
    await supervisor.handle.writeStdin('chat', 'one ');
    await supervisor.handle.writeStdin('chat', 'two', { end: true });
    expect(await supervisor.handle.attach('chat')).toMatchObject({ exitCode: 0, stdout: { text: 'one two' }, stderr: { text: '' } });
  });

  test('without input, stdin is empty and not a pipe', async () => {
    expect((await supervisor.handle.run('readlink /proc/self/fd/0; cat')).stdout.text).toBe('/dev/null\n');
  });
});
