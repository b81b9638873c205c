import type { JsonObject } from '../../../src/contracts/json.ts';
import { createToolBench, type ToolBench } from './sandbox-context.ts';

let bench: ToolBench;
beforeAll(async () => {
  bench = await createToolBench();
});
afterAll(async () => {
  await bench?.[Symbol.asyncDispose]();
});

/** What all these tools give, as far as the tests use it. */
interface Outcome extends JsonObject {
  execId: string;
  status: string;
  stdout: string;
  stdoutPath: string;
  stdoutOffset: number;
}

async function call(tool: string, input: JsonObject, callId?: string): Promise<Outcome> {
  return (await bench.call(`shell:${tool}`, input, callId)) as Outcome;
}

/** Asks until the answer is as wanted. */
async function logsWhen(input: JsonObject, wanted: (logs: Outcome) => boolean): Promise<Outcome> {
  for (const end = Date.now() + 180_000; ;) {
    const logs = await call('logs', input);
    if (wanted(logs)) return logs;
    if (Date.now() > end) throw new Error(`never as wanted: ${JSON.stringify(logs)}`);
  }
}

describe('shell:run', () => {
  test('gives exit code, both streams and the time it took; a non-zero exit is a result', async () => {
    await expect(call('run', { command: 'pwd; echo no >&2; exit 3' })).resolves.toEqual({
      status: 'exited',
      exitCode: 3,
      stdout: '/home/user\n',
      stderr: 'no\n',
      durationMs: expect.any(Number),
    });
  });

  test('works in the directory it is told', async () => {
    await expect(call('run', { command: 'pwd', cwd: '/tmp' })).resolves.toMatchObject({ exitCode: 0, stdout: '/tmp\n' });
  });

  test('a repeated call does not run the command twice', async () => {
    const first = await call('run', { command: 'echo run >> runs; wc -l < runs' }, 'call-once');
    await expect(call('run', { command: 'echo run >> runs; wc -l < runs' }, 'call-once')).resolves.toEqual(first);
    await expect(bench.shell('cat runs')).resolves.toBe('run\n');
  });

  test('a command that takes too long is ended, which is a result', async () => {
    await expect(call('run', { command: 'echo begun; sleep 600', timeoutSeconds: 0.5 })).resolves.toMatchObject({ status: 'timeout', stdout: 'begun\n' });
  });

  test('long output is cut in the middle, and the whole is in the file that is named', async () => {
    const result = await call('run', { command: 'seq 1 20000' });
    expect(result).toMatchObject({ exitCode: 0, truncated: true, stdoutBytes: 108_894, stdoutPath: expect.any(String) });
    expect(result.stdout).toMatch(/^1\n2\n/);
    expect(result.stdout).toMatch(/20000\n$/);
    await expect(bench.shell(`md5sum < ${result.stdoutPath}; seq 1 20000 | md5sum`)).resolves.toMatch(/^(\S+) {2}-\n\1 {2}-\n$/);
  });
});

describe('a background command', () => {
  test('runs on after its call, gives its output in pages, and says how it ended', async () => {
    const { execId } = await call('run', { command: 'echo one; until [ -e go ]; do sleep 0.05; done; echo two; echo bad >&2; exit 4', background: true });
    const first = await logsWhen({ execId }, (logs) => logs.stdout !== '');
    expect(first).toMatchObject({ execId, status: 'running', stdout: 'one\n', stdoutOffset: 4, stderr: '', stderrOffset: 0 });
    await bench.shell('touch go');
    const last = await logsWhen({ execId, stdoutOffset: 4 }, (logs) => logs.status !== 'running');
    expect(last).toMatchObject({ status: 'exited', exitCode: 4, stdout: 'two\n', stdoutOffset: 8, stderr: 'bad\n' });
  });

  test('pages end where a character ends', async () => {
    const { execId } = await call('run', { command: `printf 'x'; for i in $(seq 5000); do printf '€'; done`, background: true });
    const first = await logsWhen({ execId }, (logs) => logs.status !== 'running');
    const second = await call('logs', { execId, stdoutOffset: first.stdoutOffset });
    expect(`${first.stdout}${second.stdout}`).toBe(`x${'€'.repeat(5000)}`);
  });

  test('whose output was not kept to its end says so', async () => {
    const { execId } = await call('run', { command: 'head -c 67200000 /dev/zero', background: true });
    const last = await logsWhen({ execId, stdoutOffset: 67_108_864 }, (logs) => logs.status !== 'running');
    const problem = 'the last 91136 bytes of its output were not kept anywhere: the limit of output, or the disk. Have it write to a file, or less';
    expect(last).toMatchObject({ stdout: '', stdoutBytes: 67_200_000, problem });
  });

  test('is ended with all that it started', async () => {
    const { execId } = await call('run', { command: 'setsid sleep 4711 & sleep 4711', background: true });
    await expect(call('kill', { execId })).resolves.toEqual({ execId, status: 'killed' });
    await logsWhen({ execId }, (logs) => logs.status === 'killed');
    await expect(bench.shell("pgrep -cf '[s]leep 4711' || true")).resolves.toBe('0\n');
    await expect(call('kill', { execId })).resolves.toEqual({ execId, status: 'had already ended' });
  });

  test('that was never started is unknown', async () => {
    await expect(call('logs', { execId: 'nothing' })).rejects.toMatchObject({ code: 'EXEC_NOT_FOUND' });
    await expect(call('kill', { execId: 'nothing' })).rejects.toMatchObject({ code: 'EXEC_NOT_FOUND' });
  });
});
