import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { probeFence, type Fence } from '../../../../src/plugins/isolates/fence/fence.ts';
import { openWorkbench, problemOf, run, sourceOf } from '../support.ts';

let fence: Fence;
beforeAll(async () => {
  // A machine without any of the programs that a better level takes.
  const folder = await mkdtemp(join(tmpdir(), 'longshore-no-programs-'));
  fence = await probeFence([folder]);
  await rm(folder, { recursive: true });
});

const source = sourceOf('p', { ping: 'return "pong"' });

test('at level C a plugin is refused that the operator has not named, and nothing of its code runs', async () => {
  expect(fence).toMatchObject({ level: 'C', obstacles: ['namespaces and containers for plugins: perl is not installed'] });
  await using bench = await openWorkbench({ fence });
  const problem = await problemOf(bench.load('./plugins/notes', `console.log('it ran');\n${source}`));
  expect(problem).toMatch(/^Plugin "\.\/plugins\/notes": it is refused at this level of the plugin fence: level C \(Node's permission model; missing: .*\)\. /);
  expect(problem).toContain('set LONGSHORE_WEAKLY_FENCED_PLUGINS=./plugins/notes');
  expect(bench.logged).toEqual([]);
  await using group = bench.isolates.group();
  await expect(group.load({ name: './plugins/notes', code: '', forSandbox: async () => '' })).rejects.toThrow(/refused at this level/);
});

test('one that is named runs, by the whole name only', async () => {
  await using bench = await openWorkbench({ fence, weaklyFenced: ['./plugins/notes'] });
  expect(await run(await bench.load('./plugins/notes', source), 'ping')).toBe('pong');
  for (const other of ['./plugins/notes-2', './plugins', 'notes', './plugins/NOTES', './plugins/notes/']) {
    expect(await problemOf(bench.load(other, source))).toContain(`set LONGSHORE_WEAKLY_FENCED_PLUGINS=./plugins/notes,${other}`);
  }
});
