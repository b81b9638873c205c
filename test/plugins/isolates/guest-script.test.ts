import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { writeGuestScript } from '../../../src/plugins/isolates/guest-script.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-guest-test-'));
});
afterEach(() => rm(directory, { recursive: true }));

test('workers share one place for the program of plugins, so that one that is killed leaves nothing of its own', async () => {
  const [first, second] = await Promise.all([writeGuestScript(directory), writeGuestScript(directory)]);
  const third = await writeGuestScript(directory);
  expect([second.path, third.path]).toEqual([first.path, first.path]);
  expect((await readdir(directory)).length).toBe(1);
  await first[Symbol.asyncDispose]();
  expect((await readFile(second.path, 'utf8')).length).toBeGreaterThan(0);
});

test('a directory that another user may have written to is not used, and what is made instead is removed', async () => {
  const { path } = await writeGuestScript(directory);
  await chmod(path, 0o644);
  await writeFile(path, 'another');
  await using changed = await writeGuestScript(directory);
  expect(dirname(changed.path)).not.toBe(dirname(path));
  expect(await readFile(changed.path, 'utf8')).not.toBe('another');
  await rm(dirname(path), { recursive: true });
  const { path: open } = await writeGuestScript(directory);
  await chmod(dirname(open), 0o777);
  const own = await writeGuestScript(directory);
  expect(dirname(own.path)).not.toBe(dirname(open));
  await own[Symbol.asyncDispose]();
  await changed[Symbol.asyncDispose]();
  expect(await readdir(directory)).toEqual([dirname(open).slice(directory.length + 1)]);
});
