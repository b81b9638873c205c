import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pack, type Header } from 'tar-stream';
import { runCommand } from '../../../src/platform/run-command.ts';
import { createTree } from '../../../src/plugins/add/bounded-tree.ts';
import { copyDirectory } from '../../../src/plugins/add/copy-directory.ts';
import { unpackTar } from '../../../src/plugins/add/unpack-tar.ts';

type Given = Partial<Header> & { name: string };

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-tree-'));
  await mkdir(join(directory, 'out'));
});
afterEach(async () => rm(directory, { recursive: true }));

const { signal } = new AbortController();
const treeOf = (limits?: { entries: number; bytes: number }) => createTree('words', join(directory, 'out'), limits);
const found = async () => (await readdir(join(directory, 'out'), { recursive: true })).toSorted();

async function tarOf(...entries: [header: Given, content?: string][]): Promise<string> {
  const path = join(directory, 'files.tar');
  const tar = pack();
  const file = tar.pipe(createWriteStream(path));
  for (const [header, content = ''] of entries) tar.entry(header, content);
  tar.finalize();
  await once(file, 'close');
  return path;
}

const unpack = async (path: string, tree = treeOf()) => unpackTar(path, tree, { gzip: false, strip: 0, signal });

test('files and directories of a tar are written; what git keeps and the programs of packages are left out', async () => {
  const path = await tarOf(
    [{ name: 'lib', type: 'directory' }],
    [{ name: 'lib/index.js', mode: 0o4777 }, 'code'],
    [{ name: '.git/config' }, 'x'],
    [{ name: 'lib/.GIT/hooks/post-checkout' }, 'x'],
    [{ name: 'node_modules/.bin/run' }, 'x'],
    [{ name: 'node_modules/a/index.js' }, 'a'],
  );
  await unpack(path);
  expect(await found()).toEqual(['lib', 'lib/index.js', 'node_modules', 'node_modules/a', 'node_modules/a/index.js']);
  expect(await readFile(join(directory, 'out/lib/index.js'), 'utf8')).toBe('code');
});

test('the first directory of names is left out for archives of npm', async () => {
  const path = await tarOf([{ name: 'package/index.js' }, 'a'], [{ name: 'other/b.js' }, 'b']);
  await writeFile(path, gzipSync(await readFile(path)));
  await unpackTar(path, treeOf(), { gzip: true, strip: 1, signal });
  expect(await found()).toEqual(['b.js', 'index.js']);
});

test.each([
  ['../evil', 'is no usable name of a file'],
  ['a/../../evil', 'is no usable name of a file'],
  ['/etc/evil', 'is no usable name of a file'],
  ['a\\..\\evil', 'is no usable name of a file'],
  [`${'a/'.repeat(41)}b`, 'is nested too deep'],
])('a name that leads elsewhere is refused: %s', async (name, problem) => {
  const tree = treeOf();
  await expect(tree.file(name, [])).rejects.toMatchObject({ message: `Plugin "words": its ${JSON.stringify(name)} ${problem}. Rename it` });
  expect(await found()).toEqual([]);
});

test.each<[Given]>([
  [{ name: 'link', type: 'symlink', linkname: '/etc' }],
  [{ name: 'link', type: 'link', linkname: 'a' }],
  [{ name: 'link', type: 'character-device' }],
  [{ name: 'link', type: 'fifo' }],
])('an entry that is no ordinary file is refused: %j', async (header) => {
  const path = await tarOf([header], [{ name: 'link/evil' }, 'x']);
  await expect(unpack(path)).rejects.toMatchObject({ message: 'Plugin "words": its "link" is no ordinary file. Put the file itself there' });
  expect(await found()).toEqual([]);
});

test('a file that comes twice, or below another file, is refused', async () => {
  const tree = treeOf();
  await tree.file('a', [Buffer.from('one')]);
  await expect(tree.file('a', [])).rejects.toThrow('Plugin "words": its "a" is there twice. Rename it');
  await expect(tree.file('a/b', [])).rejects.toThrow('Plugin "words": its "a/b" is there twice. Rename it');
  expect(await readFile(join(directory, 'out/a'), 'utf8')).toBe('one');
});

test('no more files and bytes are taken than a plugin may have, those that are left out included', async () => {
  const message = 'Plugin "words": it has more than 3 files or 1 MB. Take out what it does not need';
  const limits = { entries: 3, bytes: 1024 * 1024 };
  await expect(unpack(await tarOf([{ name: 'a' }], [{ name: '.git/b' }], [{ name: 'c', type: 'directory' }], [{ name: 'd' }]), treeOf(limits))).rejects.toThrow(
    message,
  );
  const large = 'x'.repeat(1024 * 1024);
  await expect(unpack(await tarOf([{ name: '.git/pack' }, large], [{ name: 'e' }, 'x']), treeOf(limits))).rejects.toThrow(message);
});

test('a damaged archive is an error with the reason', async () => {
  await writeFile(join(directory, 'files.tar'), 'no tar'.repeat(200));
  await expect(unpack(join(directory, 'files.tar'))).rejects.toThrow(/^Plugin "words": its archive is damaged \(.+\)\. Get it again$/);
  await expect(unpackTar(join(directory, 'files.tar'), treeOf(), { gzip: true, strip: 1, signal })).rejects.toThrow(
    'Plugin "words": its archive is damaged (incorrect header check). Get it again',
  );
});

test('a directory is copied without what git keeps; a link in it is refused', async () => {
  const from = join(directory, 'from');
  await mkdir(join(from, 'lib'), { recursive: true });
  await mkdir(join(from, '.git'));
  await writeFile(join(from, '.git/config'), 'x');
  await writeFile(join(from, 'lib/index.js'), 'code');
  await symlink(from, join(directory, 'given'));
  await copyDirectory(join(directory, 'given'), treeOf(), signal);
  expect(await found()).toEqual(['lib', 'lib/index.js']);
  await symlink('/etc/passwd', join(from, 'notes'));
  await rm(join(directory, 'out'), { recursive: true });
  await mkdir(join(directory, 'out'));
  await expect(copyDirectory(from, treeOf(), signal)).rejects.toThrow('Plugin "words": its "notes" is no ordinary file. Put the file itself there');
});

test('a file that is larger than what is left is not read', async () => {
  const from = join(directory, 'from');
  await mkdir(from);
  await writeFile(join(from, 'large'), Buffer.alloc(2 * 1024 * 1024));
  await expect(copyDirectory(from, treeOf({ entries: 3, bytes: 1024 * 1024 }), signal)).rejects.toThrow('it has more than 3 files or 1 MB');
});

test('a file that cannot be written is not taken for a damaged archive, nor for a wrong name', async () => {
  const path = await tarOf([{ name: 'index.js' }, 'x'.repeat(1024 * 1024)]);
  const modules = ['bounded-tree', 'unpack-tar'].map((name) => import.meta.resolve(`../../../src/plugins/add/${name}.ts`));
  const program = `
    const [{ createTree }, { unpackTar }] = await Promise.all(${JSON.stringify(modules)}.map((name) => import(name)));
    const tree = createTree('words', ${JSON.stringify(join(directory, 'out'))});
    await unpackTar(${JSON.stringify(path)}, tree, { gzip: false, strip: 0, signal: new AbortController().signal }).catch(({ message }) => console.log(message));`;
  // The system lets this process write files of 512 KB.
  const limited = ['-c', 'ulimit -f 1024; exec "$@"', 'sh', process.execPath, '--import', 'tsx', '--input-type=module', '--eval', program];
  const { stdout, stderr } = await runCommand('sh', limited);
  expect([stdout, stderr]).toEqual([
    'Plugin "words": its "index.js" cannot be written (EFBIG: file too large, write). Make room for it, or correct what keeps it from being written\n',
    '',
  ]);
});
