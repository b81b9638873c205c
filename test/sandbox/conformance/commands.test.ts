import { randomInt } from 'node:crypto';
import { until } from '../lifecycle/support.ts';
import { BACKENDS } from './backends.ts';
import { at, handle, home, shell, useSandbox } from './sandbox.ts';

describe.each(BACKENDS)('commands on %s', (_name, open) => {
  useSandbox(open);

  test('give status, exit code, both outputs, and honour directory, environment and input', async () => {
    const result = await handle.run('pwd; echo "$GREETING" >&2; cat; exit 3', { cwd: home, env: { GREETING: 'hi' }, stdin: 'typed' });
    expect(result).toMatchObject({ status: 'exited', exitCode: 3, stdout: { text: `${home}\ntyped` }, stderr: { text: 'hi\n' } });
  });

  test('are ended at their time limit with all they started, and keep what they wrote', async () => {
    // Of this run alone: a sandbox may see the processes of others.
    const seconds = `987.${randomInt(1e6)}`;
    const result = await handle.run(`echo begun; setsid sleep ${seconds} & sleep ${seconds}`, { timeoutMs: 300 });
    expect(result).toMatchObject({ status: 'timeout', stdout: { text: 'begun\n' } });
    expect(await shell(`pgrep -fc "[s]leep ${seconds}" || true`)).toBe('0\n');
  });

  test('run on in the background, are listed, followed from an offset, and ended', async () => {
    const { execId } = await handle.start('echo one; while [ ! -e stop ]; do sleep 0.02; done; echo two; sleep 987', { cwd: home, timeoutMs: 0 });
    await handle.writeFile(at('stop'), '');
    await until(async () => (await handle.execs()).find((exec) => exec.execId === execId)?.stdoutBytes === 8, 'both lines are written');
    const chunks: string[] = [];
    const followed = handle.attach(execId, { stdout: 4, stderr: 0 }, { onStdout: (chunk) => chunks.push(chunk.toString()) });
    await until(async () => chunks.join('') === 'two\n', 'the second line is followed');
    expect(await handle.kill(execId)).toBe(true);
    expect(await followed).toMatchObject({ status: 'killed' });
    expect(await handle.kill(execId)).toBe(false);
  });

  test('that are longer than an argument may be run as they are', async () => {
    const text = 'grüße 😀 '.repeat(40_000);
    const result = await handle.run(`cat <<'END' | wc -c\n${text}\nEND\necho "$#" "$0"`);
    expect(result.stdout.text).toBe(`${Buffer.byteLength(text) + 1}\n0 /bin/bash\n`);
    await expect(handle.run('x'.repeat(1_000_000))).rejects.toThrow('run.command: it has 1000000 characters. Give a command of at most 900000');
  });

  test('that are too many at once wait for their turn, with their input', async () => {
    const started = await Promise.all(Array.from({ length: 100 }, () => handle.start('exec sleep 987', { timeoutMs: 0 })));
    let ended = 0;
    const waiting = ['one', 'two'].map(async (name) => {
      const { stdout } = await handle.run('cat', { stdin: name, timeoutMs: 20_000 });
      ended += 1;
      return stdout.text;
    });
    const letGo = new AbortController();
    const given = expect(handle.run('true', { signal: letGo.signal })).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await handle.fileExists('.')).toBe(true);
    letGo.abort();
    await given;
    expect(ended).toBe(0);
    await Promise.all(started.map(({ execId }) => handle.kill(execId, 'SIGKILL')));
    expect(await Promise.all(waiting)).toEqual(['one', 'two']);
  });

  test('are sent signals, which they may handle, and their output is found by its path', async () => {
    const command = 'trap "echo hup" HUP; trap "echo usr1; exit 0" USR1; echo ready; while :; do sleep 0.02; done';
    const { execId } = await handle.start(command, { timeoutMs: 0 });
    const wrote = async (text: string) => (await handle.readFile((await info()).stdoutPath ?? '', { encoding: 'utf-8' })) === text;
    const info = async () => (await handle.execs()).find((exec) => exec.execId === execId) ?? { state: 'none', stdoutPath: undefined };
    await until(() => wrote('ready\n'), 'it handles signals');
    expect(await handle.kill(execId, 'SIGHUP')).toBe(true);
    await until(() => wrote('ready\nhup\n'), 'HUP is handled');
    await handle.kill(execId, 'SIGUSR1');
    expect(await handle.attach(execId)).toMatchObject({ status: 'exited', exitCode: 0 });
  });

  test('the same id twice is one command', async () => {
    const options = { execId: 'once', cwd: home };
    await Promise.all([handle.run('echo ran >> runs', options), handle.run('echo ran >> runs', options)]);
    expect(await shell('cat runs')).toBe('ran\n');
  });
});
