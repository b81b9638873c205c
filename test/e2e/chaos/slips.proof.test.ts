import { fileURLToPath } from 'node:url';
import { runCommand } from '../../../src/platform/run-command.ts';
import { builtCommandLine } from '../../support/built-programs.ts';

const PROGRAM = fileURLToPath(new URL('../../../scripts/chaos/main.ts', import.meta.url));

test('while one statement in twenty to Postgres is lost or late, all conversations are right', async () => {
  const words = ['slips', '--seed', '1', '--minutes', '1', '--program', await builtCommandLine()];
  const { code, stdout } = await runCommand(process.execPath, ['--import', 'tsx', PROGRAM, ...words]);
  const lines = stdout.trimEnd().split('\n');
  expect({ code, broken: lines.filter((line) => line.includes('BROKEN')), end: lines.at(-1) }).toEqual({ code: 0, broken: [], end: 'slips: all rules hold' });
  const [, lost, late, held] = /statements (\d+) were lost and (\d+) late; (\d+) conversations had/.exec(stdout) ?? [];
  expect([lost, late, held].map((count) => Number(count) > 0)).toEqual([true, true, true]);
}, 400_000);
