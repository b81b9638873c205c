import { fileURLToPath } from 'node:url';
import { runCommand } from '../../../src/platform/run-command.ts';
import { builtCommandLine } from '../../support/built-programs.ts';

const PROGRAM = fileURLToPath(new URL('../../../scripts/chaos/main.ts', import.meta.url));

async function chaos(...words: string[]) {
  const { code, stdout, stderr } = await runCommand(process.execPath, ['--import', 'tsx', PROGRAM, ...words]);
  return { code, lines: stdout.trimEnd().split('\n'), stderr: stderr.trim() };
}

test('while workers and services are killed for a minute, nothing is lost, doubled or reported wrongly, and nothing is left', async () => {
  const { code, lines } = await chaos('kills', '--seed', '7', '--minutes', '1', '--program', await builtCommandLine());
  expect({ code, broken: lines.filter((line) => line.includes('BROKEN')), end: lines.at(-1) }).toEqual({ code: 0, broken: [], end: 'kills: all rules hold' });
  const [, killed, held] = /(\d+) workers and \d+ services were killed; (\d+) conversations had/.exec(lines.join('\n')) ?? [];
  expect([Number(killed) > 0, Number(held) > 0]).toEqual([true, true]);
}, 400_000);

test('conversations that are paused and resumed for a minute, while workers are killed, go on as if they had not been', async () => {
  const { code, lines } = await chaos('pauses', '--seed', '7', '--minutes', '1', '--program', await builtCommandLine());
  expect({ code, broken: lines.filter((line) => line.includes('BROKEN')), end: lines.at(-1) }).toEqual({ code: 0, broken: [], end: 'pauses: all rules hold' });
  const [, paused, held] = /(\d+) pauses, .* were killed; (\d+) conversations had/.exec(lines.join('\n')) ?? [];
  expect([Number(paused) > 0, Number(held) > 0]).toEqual([true, true]);
}, 500_000);

test('of what has begun while turns are interrupted and conversations closed for a minute, and workers killed, everything has one end', async () => {
  const { code, lines } = await chaos('interrupts', '--seed', '7', '--minutes', '1', '--program', await builtCommandLine());
  expect({ code, broken: lines.filter((line) => line.includes('BROKEN')), end: lines.at(-1) }).toEqual({
    code: 0,
    broken: [],
    end: 'interrupts: all rules hold',
  });
  expect(lines.join('\n')).toMatch(/[1-9]\d* conversations were interrupted and closed; [1-9]\d* workers/);
}, 500_000);

test('so it has while Postgres and Temporal are cut off for a minute', async () => {
  const { code, lines } = await chaos('interrupted-cuts', '--seed', '7', '--minutes', '1', '--program', await builtCommandLine());
  expect({ code, broken: lines.filter((line) => line.includes('BROKEN')), end: lines.at(-1) }).toEqual({
    code: 0,
    broken: [],
    end: 'interrupted-cuts: all rules hold',
  });
  expect(lines.join('\n')).toMatch(/[1-9]\d* conversations were interrupted and closed; there were [1-9]\d* outages, and [1-9]\d* connections were lost/);
}, 500_000);

test('what cannot be used is said, before anything is started', async () => {
  expect(await chaos('nothing')).toEqual({
    code: 2,
    lines: [''],
    stderr: 'there is no scenario "nothing": use kills, cuts, pauses, interrupts, interrupted-cuts, slips, hosts, disks, memory, clocks, soak',
  });
  expect(await chaos('--seed', 'x')).toEqual({ code: 2, lines: [''], stderr: '--seed: "x" cannot be used' });
  expect(await chaos('--minutes', '0')).toEqual({ code: 2, lines: [''], stderr: '--minutes: "0" cannot be used' });
  const help = await chaos('--help');
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.lines).toContain('Usage: npm run chaos [-- SCENARIO... OPTIONS]');
});
