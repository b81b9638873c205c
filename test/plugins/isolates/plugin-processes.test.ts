import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openProcesses } from '../../../src/plugins/isolates/plugin-processes.ts';
import { until } from '../../e2e/support.ts';
import { childrenOf, openWorkbench, problemOf } from './support.ts';

test('a process is ready before it is needed, and the next one is begun when it has been taken', async () => {
  const before = await childrenOf(process.pid);
  await using processes = await openProcesses();
  const begun = await newChildren(before);
  const taken = await processes.take();
  expect(begun.at(-1)).toBe(String(taken.pid));
  const next = await processes.take();
  expect(next.pid).not.toBe(taken.pid);
  const known = [...before, ...begun, String(next.pid)];
  await until(async () => (await newChildren(known)).length === 1, 'another one is ready');
});

test('a plugin that cannot be loaded leaves no process', async () => {
  const before = await childrenOf(process.pid);
  await using own = await openWorkbench();
  const spare = (await newChildren(before)).at(-1);
  expect(await problemOf(own.load('unloadable', `throw new Error('no licence');`))).toBe('no licence');
  await until(async () => !(await childrenOf(process.pid)).includes(spare as string), 'its process is gone');
  expect(own.isolates.health().plugins.map(({ plugin }) => plugin)).not.toContain('unloadable');
});

/** The one that was started last is the last; the first may be the bundler. */
async function newChildren(known: string[]): Promise<string[]> {
  return (await childrenOf(process.pid)).filter((pid) => !known.includes(pid));
}

test('processes are started also after the program of theirs was removed from the directory for temporary files', async () => {
  const place = await mkdtemp(join(tmpdir(), 'longshore-processes-test-'));
  await using processes = await openProcesses(undefined, place);
  const first = await processes.take();
  await rm(place, { recursive: true });
  await mkdir(place);
  const [second, third] = await Promise.all([processes.take(), processes.take()]);
  expect([first, second, third].map((process) => process.alive())).toEqual([true, true, true]);
  await rm(place, { recursive: true });
});
