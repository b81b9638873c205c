import { mustRun, runCommand } from '../../src/platform/run-command.ts';

describe('running a program', () => {
  test('exit code and both streams are kept apart, and lines are told as they come', async () => {
    const lines: string[] = [];
    const outcome = await runCommand('sh', ['-c', 'echo out; echo err >&2; exit 3'], { onLine: (line) => lines.push(line) });
    expect(outcome).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' });
    expect(lines.toSorted()).toEqual(['err', 'out']);
  });

  test('a missing program is code 127, one that takes too long 124', async () => {
    expect((await runCommand('no-such-program', [])).code).toBe(127);
    expect((await runCommand('sleep', ['60'], { timeoutMs: 20 })).code).toBe(124);
  });

  test('one that writes more than it may is ended', async () => {
    const outcome = await runCommand('sh', ['-c', 'exec yes'], { mostOutput: 100_000, signal: new AbortController().signal });
    expect(outcome).toMatchObject({ code: 128, isCut: true });
    expect(outcome.stdout.length).toBeLessThan(1_000_000);
    expect(outcome).not.toHaveProperty('killedBy');
  });

  test('one that the system ends says by which signal', async () => {
    expect(await runCommand('sh', ['-c', 'kill -TERM $$'])).toMatchObject({ code: 128, killedBy: 'SIGTERM' });
  });

  test('a failure names the step, the last words and the way out', async () => {
    const failing = mustRun('Baking', 'sh', ['-c', 'echo too hot >&2; exit 1'], { fix: 'Open a window' });
    await expect(failing).rejects.toMatchObject({ code: 'SETUP_FAILED', message: 'Baking: sh ended with code 1: too hot. Open a window' });
  });
});
