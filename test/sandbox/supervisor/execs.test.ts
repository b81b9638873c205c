import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeFrame, FrameReader, FRAMES } from '../../../src/sandbox/protocol/frames.ts';
import { descendants, isAlive, LocalSupervisor, until } from './local-supervisor.ts';

let supervisor: LocalSupervisor;
beforeEach(async () => {
  supervisor = await LocalSupervisor.start();
});
afterEach(() => supervisor[Symbol.asyncDispose]());

describe('starting once', () => {
  test('ten racing starts of one id run once, and all see its end', async () => {
    const connections = Array.from({ length: 10 }, () => supervisor.connect());
    const run = { command: 'echo ran >> effects; sleep 0.2; echo done' };
    const spec = { execId: 'race', run, cwd: '.', env: {}, timeoutMs: 30_000, maxOutputBytes: 1e6, stdin: 'empty' as const };
    const ends = await Promise.all(connections.map((connection) => connection.run(spec, { previewBytes: 100 })));
    expect(ends.map((end) => end.stdout.head)).toEqual(Array(10).fill('done\n'));
    expect(readFileSync(join(supervisor.home, 'effects'), 'utf8')).toBe('ran\n');
  });

  test('a start is acknowledged while the command runs, however silent it is', async () => {
    const socket = await supervisor.openStream();
    const first = new Promise<number>((resolve) => {
      const reader = new FrameReader(({ type }) => resolve(type));
      socket.on('data', (chunk: Buffer) => reader.push(chunk));
    });
    const spec = { execId: 'silent', command: 'sleep 1000', cwd: '.', env: {}, timeoutMs: 0, maxOutputBytes: 1, stdin: 'empty' };
    const follow = { stream: true, stdoutOffset: 0, stderrOffset: 0, previewBytes: 1 };
    socket.write(encodeFrame(FRAMES.request, 1, JSON.stringify({ operation: 'run', ...spec, ...follow })));
    expect(await first).toBe(FRAMES.reply);
    expect(await supervisor.handle.kill('silent', 'SIGKILL')).toBe(true);
  });

  test('an ended exec is never run again', async () => {
    const first = await supervisor.handle.run('echo ran >> effects; exit 7', { execId: 'twice' });
    const second = await supervisor.handle.run('echo ran >> effects; exit 7', { execId: 'twice' });
    expect(second).toEqual(first);
    expect(readFileSync(join(supervisor.home, 'effects'), 'utf8')).toBe('ran\n');
  });

  test.each([
    ['command', 'echo b', {}],
    ['directory', 'echo a', { cwd: '/' }],
    ['environment', 'echo a', { env: { A: '2' } }],
  ])('an id with another %s is refused', async (_what, command, options) => {
    await supervisor.handle.run('echo a', { execId: 'same', env: { A: '1' } });
    await expect(supervisor.handle.run(command, { execId: 'same', env: { A: '1' }, ...options })).rejects.toMatchObject({ code: 'EXEC_MISMATCH' });
  });

  test('a command that cannot be started says why, every time it is asked', async () => {
    for (const attempt of [1, 2]) {
      const started = supervisor.handle.run('true', { execId: 'nowhere', cwd: '/no/such/directory' });
      await expect(started).rejects.toMatchObject({ code: 'EXEC_FAILED', message: expect.stringContaining('No such file or directory') as string });
      expect(attempt).toBeGreaterThan(0);
    }
    const result = { status: 'failed', problem: expect.stringContaining('No such file or directory') as string };
    expect(await supervisor.handle.execs()).toMatchObject([{ execId: 'nowhere', state: 'ended', result }]);
  });

  test('a helper that the kernel killed for memory is replaced, and what it started lives on', async () => {
    const ended = supervisor.handle.run('echo > ready; until [ -e go ]; do sleep 0.05; done; echo done', { execId: 'survivor' });
    await until(() => existsSync(join(supervisor.home, 'ready')));
    const [nursery] = descendants(Number(supervisor.process.pid));
    process.kill(nursery!, 'SIGKILL');
    await until(() => !isAlive(nursery!));
    expect((await supervisor.handle.run('echo next; touch go')).stdout.text).toBe('next\n');
    expect((await ended).stdout.text).toBe('done\n');
  });

  test('an exec that ended with its container is lost, not run again', async () => {
    const started = supervisor.handle.run('echo ran >> effects; sleep 1000', { execId: 'victim' });
    started.catch(() => undefined);
    const effects = join(supervisor.home, 'effects');
    await until(() => existsSync(effects) && readFileSync(effects, 'utf8') === 'ran\n');
    // The command starts before its journal is written; whatever is answered afterwards comes later.
    await supervisor.handle.execs();
    await supervisor.die();
    await supervisor.boot();
    await expect(started).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    expect(await supervisor.handle.execs()).toMatchObject([{ execId: 'victim', state: 'lost', command: 'echo ran >> effects; sleep 1000' }]);
    expect(readFileSync(join(supervisor.home, 'effects'), 'utf8')).toBe('ran\n');
  });

  test('an ended exec can be forgotten, a running one cannot', async () => {
    await supervisor.handle.run('true', { execId: 'ended' });
    await supervisor.handle.start('sleep 1000', { execId: 'running' });
    await supervisor.handle.forget('ended');
    await expect(supervisor.handle.forget('running')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(supervisor.handle.forget('ended')).rejects.toMatchObject({ code: 'EXEC_NOT_FOUND' });
    expect((await supervisor.handle.execs()).map((exec) => exec.execId)).toEqual(['running']);
  });
});

describe('ending', () => {
  const stubborn = `
    trap '' TERM
    setsid sh -c 'trap "" TERM; echo $$ >> pids; while :; do sleep 0.1; done' &
    sh -c '(sh -c "trap \\"\\" TERM; echo \\$\\$ >> pids; while :; do sleep 0.1; done" &) &'
    echo $$ >> pids
    while :; do sleep 0.1; done`;
  const pids = (): number[] => {
    const file = join(supervisor.home, 'pids');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : [];
  };

  test('a timeout ends the whole tree: its own sessions, orphans, and those that ignore TERM', async () => {
    const result = await supervisor.handle.run(stubborn, { execId: 'stubborn', timeoutMs: 1500 });
    expect(result).toMatchObject({ status: 'timeout', signal: 'SIGKILL' });
    expect(pids().length).toBe(3);
    expect(pids().filter(isAlive)).toEqual([]);
  });

  test('a command that dies of its own signal ended by itself', async () => {
    const result = await supervisor.handle.run('kill -SEGV $$', { execId: 'own-signal' });
    expect(result).toMatchObject({ status: 'exited', signal: 'SIGSEGV' });
    expect(result.exitCode).toBeUndefined();
  });

  test('a kill does the same, and says so', async () => {
    const ended = supervisor.handle.run(stubborn, { execId: 'killed' });
    await until(() => pids().length === 3);
    expect(await supervisor.handle.kill('killed', 'SIGKILL')).toBe(true);
    expect(await ended).toMatchObject({ status: 'killed', signal: 'SIGKILL' });
    expect(pids().filter(isAlive)).toEqual([]);
    expect(await supervisor.handle.kill('killed')).toBe(false);
  });

  test('a command that cleans up on TERM may do so', async () => {
    const ended = supervisor.handle.run(`trap 'echo bye; exit 5' TERM; echo ready > ready; while :; do sleep 0.05; done`, { execId: 'polite' });
    await until(() => existsSync(join(supervisor.home, 'ready')));
    await supervisor.handle.kill('polite');
    expect(await ended).toMatchObject({ status: 'killed', exitCode: 5, stdout: { text: 'bye\n' } });
  });

  test('a fork bomb is ended', async () => {
    const result = await supervisor.handle.run('ulimit -u 60; f() { f | f & }; f 2>/dev/null; sleep 1000', { timeoutMs: 300 });
    expect(result.status).toBe('timeout');
  });

  test('frozen time does not count', async () => {
    const ended = supervisor.handle.run('echo > ready; sleep 2; echo slept', { execId: 'frozen', timeoutMs: 4000 });
    await until(() => existsSync(join(supervisor.home, 'ready')));
    supervisor.signalAll('SIGSTOP');
    const frozenAt = performance.now();
    await until(() => performance.now() - frozenAt > 5000);
    supervisor.signalAll('SIGCONT');
    const result = await ended;
    expect(result).toMatchObject({ status: 'exited', stdout: { text: 'slept\n' } });
    expect(result.durationMs).toBeLessThan(4000);
  });

  test('when the sandbox is stopped, running commands are ended and recorded as lost', async () => {
    const ended = supervisor.handle.run('sleep 1000', { execId: 'stopped' });
    ended.catch(() => undefined);
    await until(async () => (await supervisor.connection.list()).length === 1);
    const before = descendants(Number(supervisor.process.pid));
    supervisor.process.kill('SIGTERM');
    await until(() => supervisor.process.exitCode !== null);
    expect(JSON.parse(supervisor.journal('stopped', 'exit.json').toString())).toMatchObject({ status: 'lost', signal: 'SIGKILL' });
    await until(() => !before.some(isAlive));
    await supervisor.boot();
    await expect(ended).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
  });
});

describe('the guest', () => {
  test('has its own uid, no groups of root, the given environment, and no descriptor too many', async () => {
    const { stdout } = await supervisor.handle.run(
      `id -u; id -G; echo "$A $HOME $PWD"; ls /proc/self/fd | tr '\\n' ' '; grep CapEff /proc/self/status; umask`,
      {
        env: { A: 'given' },
      },
    );
    expect(stdout.text).toBe(
      `${supervisor.guest}\n${supervisor.guest}\ngiven ${supervisor.home} ${supervisor.home}\n0 1 2 3 CapEff:\t0000000000000000\n0022\n`,
    );
  });

  test('may read its journal and change nothing of it, nor see the specification', async () => {
    const { execId } = await supervisor.handle.run('echo secret output', { env: { KEY: 'value-of-a-key' } });
    const directory = join(supervisor.directory, 'execs', execId);
    const script = `cd ${directory}; cat stdout; echo x > stdout; echo x > exit.json; rm -f stdout; mkdir ../other; touch new; cat spec.json; mv . ../moved`;
    const result = await supervisor.handle.run(script);
    expect(result.stdout.text).toBe('secret output\n');
    expect(result.stderr.text.match(/Permission denied|cannot/g)?.length).toBeGreaterThanOrEqual(6);
    expect(supervisor.journal(execId, 'stdout').toString()).toBe('secret output\n');
    expect(supervisor.journal(execId, 'spec.json').toString()).not.toContain('value-of-a-key');
  });

  test('cannot signal what stands above it, nor reach the socket', async () => {
    const script = `kill -9 $PPID; kill -9 ${supervisor.process.pid}; ls ${join(supervisor.directory, 'run')}; echo still`;
    const result = await supervisor.handle.run(script);
    expect(result).toMatchObject({ status: 'exited', stdout: { text: 'still\n' } });
    expect(result.stderr.text).toMatch(/not permitted[\s\S]*not permitted[\s\S]*Permission denied/);
  });
});
