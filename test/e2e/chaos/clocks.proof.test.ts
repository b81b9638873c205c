import { fileURLToPath } from 'node:url';
import { clocks } from '../../../scripts/chaos/scenarios/clocks.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { builtCommandLine } from '../../support/built-programs.ts';

const PROGRAM = fileURLToPath(new URL('../../../scripts/chaos/main.ts', import.meta.url));
const missing = await clocks.missing?.();

(missing === undefined ? test : test.skip)(
  `while clocks of workers and services are wrong by an hour and are set, all conversations are right${missing === undefined ? '' : ` (left out: ${missing})`}`,
  async () => {
    const words = ['clocks', '--seed', '1', '--minutes', '0.5', '--program', await builtCommandLine()];
    const { code, stdout } = await runCommand(process.execPath, ['--import', 'tsx', PROGRAM, ...words]);
    const lines = stdout.trimEnd().split('\n');
    expect({ code, broken: lines.filter((line) => line.includes('BROKEN')), end: lines.at(-1) }).toEqual({
      code: 0,
      broken: [],
      end: 'clocks: all rules hold',
    });
    const [, times, held] = /a clock was set (\d+) times; (\d+) conversations had/.exec(stdout) ?? [];
    expect([times, held].map((count) => Number(count) > 0)).toEqual([true, true]);
  },
  400_000,
);
