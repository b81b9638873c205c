import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readWithin } from '../../../src/plugins/isolates/read-within.ts';
import { builtModule } from '../../support/built-programs.ts';
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

test('nothing else leads out of what is permitted either', async () => {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'longshore-within-')));
  const inside = join(directory, 'inside');
  await mkdir(join(inside, 'sub'), { recursive: true });
  await mkdir(join(directory, 'inside-2'));
  await writeFile(join(inside, 'a.txt'), 'a');
  await writeFile(join(directory, 'secret'), 'SECRET');
  await writeFile(join(directory, 'inside-2/secret'), 'SECRET');
  await symlink('../../secret', join(inside, 'sub/link'));
  await symlink('..', join(inside, 'up'));
  await symlink('/', join(inside, 'top'));
  await symlink('/dev/zero', join(inside, 'endless'));
  await symlink('loop', join(inside, 'loop'));
  execFileSync('mkfifo', [join(inside, 'pipe')]);
  const socket = createServer().listen(join(inside, 'socket'));
  await once(socket, 'listening');
  for (const path of ['a.txt', 'sub/../a.txt', './/a.txt', 'up/inside/a.txt', 'sub/../../inside/a.txt']) {
    expect(`${path}: ${(await readWithin([inside], `${inside}/${path}`)).toString()}`).toBe(`${path}: a`);
  }
  const outside = [
    '../secret',
    'sub/link',
    'up/secret',
    `top${directory}/secret`,
    '../inside-2/secret',
    'sub/../../secret',
    'A.TXT',
    'a.txt/',
    'a.txt/.',
    'a.txt\0',
    '\0/../secret',
  ];
  const odd = ['pipe', 'socket', 'sub', '', 'loop', '%2e%2e/secret', '..%2fsecret', '~', 'endless', 'top/proc/self/environ', 'top/sys/kernel/hostname'];
  for (const path of [...outside, ...odd]) {
    for (const permitted of [[inside], [`${inside}/`], [`${inside}/sub`, inside], [join(inside, 'a.txt'), inside]]) {
      expect(await problemOf(readWithin(permitted, `${inside}/${path}`))).toMatch(/is not readable for this plugin|of which plugins may read nothing/);
    }
  }
  for (const path of ['secret', './secret', `file://${directory}/secret`, inside.slice(1)]) {
    expect(await problemOf(readWithin(['/', inside], path))).toMatch(/is not readable for this plugin/);
  }
  socket.close();
  await rm(directory, { recursive: true });
});

const asRoot = process.platform === 'linux' && process.getuid?.() === 0 ? test : test.skip;

asRoot('files of the kernel are known where they are mounted at another place', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-within-'));
  const source = `import { readWithin } from '${await builtModule('plugins/isolates/read-within.ts')}';
    for (const path of ['self/environ', 'sys/kernel/hostname', 'mounts']) await readWithin(['${directory}'], '${directory}/' + path).then((text) => console.log('READ ' + text), ({ message }) => console.log(message));`;
  // In a mount namespace of its own, which goes with it.
  const words = [
    '--mount',
    '--pid',
    '--fork',
    'sh',
    '-c',
    `mount -t proc proc ${directory} && exec ${process.execPath} --input-type=module --eval '${source.replaceAll("'", `'\\''`)}'`,
  ];
  const { stdout } = await promisify(execFile)('unshare', words, { cwd: join(import.meta.dirname, '../../..') });
  expect(stdout.trim().split('\n')).toEqual(Array(3).fill(expect.stringContaining('is not readable for this plugin')));
  await rm(directory, { recursive: true });
});
