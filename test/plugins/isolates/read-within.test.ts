import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readWithin } from '../../../src/plugins/isolates/read-within.ts';
import { problemOf } from './support.ts';

test('files of the kernel are refused, whatever the permission names and however they are named', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-within-'));
  await writeFile(join(directory, 'a.txt'), 'a');
  await symlink('/proc/self', join(directory, 'self'));
  await symlink('/proc', join(directory, 'processes'));
  expect((await readWithin(['/'], join(directory, 'a.txt'))).toString()).toBe('a');
  const refused = [
    '/proc/self/environ',
    `/proc/${process.pid}/environ`,
    '/proc/self/root/proc/self/environ',
    '/proc/thread-self/environ',
    '/proc/1/../self/environ',
    '/sys/kernel/hostname',
    '/dev/null',
    '/dev/fd/0',
    '/dev/stdin',
    '//proc//self//environ',
    join(directory, 'self/environ'),
    join(directory, 'processes/self/environ'),
  ];
  for (const path of refused) {
    for (const prefix of ['/', '/proc', '/proc/self', '/proc/self/environ', '/dev', directory, path]) {
      expect(await problemOf(readWithin([prefix], path))).toMatch(
        /lies in \/proc, \/sys or \/dev, of which plugins may read nothing|is not readable for this plugin/,
      );
    }
  }
  await rm(directory, { recursive: true });
});
