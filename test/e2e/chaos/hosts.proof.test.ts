import { fileURLToPath } from 'node:url';
import { whyNoOwnEngine } from '../../../scripts/own-engine.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { builtCommandLine } from '../../support/built-programs.ts';

const PROGRAM = fileURLToPath(new URL('../../../scripts/chaos/main.ts', import.meta.url));
const missing = await whyNoOwnEngine();

(missing === undefined ? test : test.skip)(
  `while two hosts are cut off or die and come back, no sandbox has two containers for long, no call takes effect twice, and what was lost is told${missing === undefined ? '' : ` (left out: ${missing})`}`,
  async () => {
    const words = ['hosts', '--seed', '195', '--minutes', '2.2', '--program', await builtCommandLine()];
    const { code, stdout } = await runCommand(process.execPath, ['--import', 'tsx', PROGRAM, ...words]);
    const lines = stdout.trimEnd().split('\n');
    expect({ code, broken: lines.filter((line) => line.includes('BROKEN')), end: lines.at(-1) }).toEqual({ code: 0, broken: [], end: 'hosts: all rules hold' });
    const [, outages, replaced, held] = /(\d+) times a host was lost, and (\d+) sandboxes were taken over; (\d+) conversations had/.exec(stdout) ?? [];
    expect([outages, replaced, held].map((count) => Number(count) > 0)).toEqual([true, true, true]);
  },
  600_000,
);
