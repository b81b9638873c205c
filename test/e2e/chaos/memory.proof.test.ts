import { fileURLToPath } from 'node:url';
import { memory } from '../../../scripts/chaos/scenarios/memory.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { builtCommandLine } from '../../support/built-programs.ts';

const PROGRAM = fileURLToPath(new URL('../../../scripts/chaos/main.ts', import.meta.url));
const missing = await memory.missing?.();

(missing === undefined ? test : test.skip)(
  `while memory is short in sandboxes, on a host, for workers, services, Postgres and what starts containers, callers are told why, nothing is lost, and all goes on by itself${missing === undefined ? '' : ` (left out: ${missing})`}`,
  async () => {
    const words = ['memory', '--seed', '2', '--minutes', '0.7', '--program', await builtCommandLine()];
    const { code, stdout } = await runCommand(process.execPath, ['--import', 'tsx', PROGRAM, ...words]);
    const lines = stdout.trimEnd().split('\n');
    expect({ code, broken: lines.filter((line) => line.includes('BROKEN')), end: lines.at(-1) }).toEqual({
      code: 0,
      broken: [],
      end: 'memory: all rules hold',
    });
    const [, ...counts] = /worker (\d+), service (\d+), postgres (\d+), engine (\d+) times memory was short, .*; (\d+) conversations had/.exec(stdout) ?? [];
    const [held, times] = [Number(counts.pop()), counts.reduce((sum, count) => sum + Number(count), 0)];
    // On a slow machine there may not be time for all of them.
    expect([times, held].map((count) => count > 0)).toEqual([true, true]);
    expect(stdout).toContain('calls waited, said so, and got it in their order');
    expect(stdout).toContain('a call waited for too long, and says what to do');
  },
  600_000,
);
