import { fileURLToPath } from 'node:url';
import { disks } from '../../../scripts/chaos/scenarios/disks.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { builtCommandLine } from '../../support/built-programs.ts';

const PROGRAM = fileURLToPath(new URL('../../../scripts/chaos/main.ts', import.meta.url));
const missing = await disks.missing?.();

(missing === undefined ? test : test.skip)(
  `while the disks of Postgres and of a host are full, callers are told why, nothing is lost, and all goes on by itself${missing === undefined ? '' : ` (left out: ${missing})`}`,
  async () => {
    const words = ['disks', '--seed', '2', '--minutes', '1', '--program', await builtCommandLine()];
    const { code, stdout } = await runCommand(process.execPath, ['--import', 'tsx', PROGRAM, ...words]);
    const lines = stdout.trimEnd().split('\n');
    expect({ code, broken: lines.filter((line) => line.includes('BROKEN')), end: lines.at(-1) }).toEqual({ code: 0, broken: [], end: 'disks: all rules hold' });
    const [, times, held] = /(\d+) times a disk was full, and Postgres ended \d+ times; (\d+) conversations had/.exec(stdout) ?? [];
    expect([times, held].map((count) => Number(count) > 0)).toEqual([true, true]);
  },
  600_000,
);
