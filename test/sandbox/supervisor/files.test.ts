import { randomBytes } from 'node:crypto';
import { readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalSupervisor } from './local-supervisor.ts';

let supervisor: LocalSupervisor;
beforeEach(async () => {
  supervisor = await LocalSupervisor.start();
});
afterEach(() => supervisor[Symbol.asyncDispose]());

test('a file is written with its missing directories, as the guest, and read back', async () => {
  await supervisor.handle.writeFile('a/b/c.txt', 'text', { mode: 0o600 });
  expect((await supervisor.handle.readFile('a/b/c.txt')).toString()).toBe('text');
  expect((await supervisor.handle.readFile(join(supervisor.home, 'a/b/c.txt'), { maxBytes: 2 })).toString()).toBe('te');
  const status = statSync(join(supervisor.home, 'a/b/c.txt'));
  expect([status.uid, status.gid, status.mode & 0o777]).toEqual([supervisor.guest, supervisor.guest, 0o600]);
});

test('large and binary files pass unchanged, empty ones too', async () => {
  const bytes = randomBytes(5_000_000);
  await supervisor.handle.writeFile('large', bytes);
  expect((await supervisor.handle.readFile('large')).equals(bytes)).toBe(true);
  await supervisor.handle.writeFile('empty', '');
  expect((await supervisor.handle.readFile('empty')).length).toBe(0);
});

test('writing over a file keeps its mode and leaves nothing beside it', async () => {
  await supervisor.handle.writeFile('script', 'old', { mode: 0o755 });
  await supervisor.handle.writeFile('script', 'new');
  expect(await supervisor.handle.fileInfo('script')).toMatchObject({ type: 'file', size: 3, mode: 0o755 });
  expect(readdirSync(supervisor.home)).toEqual(['script']);
});

test('a listing tells types, sizes and links, is ordered, and stops where told', async () => {
  await supervisor.handle.writeFile('directory/inner', 'four');
  await supervisor.handle.run('ln -s /etc/passwd link; mkfifo pipe');
  const files = await supervisor.handle.listFiles('.', { recursive: true });
  expect(files.map(({ path, type, linkTarget }) => [path.slice(supervisor.home.length + 1), type, linkTarget])).toEqual([
    ['directory', 'directory', undefined],
    ['link', 'link', '/etc/passwd'],
    ['pipe', 'other', undefined],
    ['directory/inner', 'file', undefined],
  ]);
  expect(await supervisor.connection.listFiles('.', { recursive: false, maxEntries: 2 })).toMatchObject({ truncated: true, files: [{}, {}] });
});

test('many files with long names are listed whole', async () => {
  await supervisor.handle.run(`mkdir many; cd many; for i in $(seq 5000); do echo "${'n'.repeat(200)}$i"; done | xargs touch`);
  expect((await supervisor.handle.listFiles('many')).length).toBe(5000);
});

test('a name that is no text can be listed, read and removed', async () => {
  await supervisor.handle.run(String.raw`printf odd > "$(printf 'a\377b')"`);
  const [file] = await supervisor.handle.listFiles('.');
  expect((await supervisor.handle.readFile(file!.path)).toString()).toBe('odd');
  await supervisor.handle.removeFile(file!.path);
  expect(await supervisor.handle.listFiles('.')).toEqual([]);
});

test('files are renamed, removed, and directories made, twice without harm', async () => {
  await supervisor.handle.createDirectory('x/y');
  await supervisor.handle.createDirectory('x/y');
  await supervisor.handle.writeFile('x/file', '1');
  await supervisor.handle.rename('x/file', 'x/y/moved');
  expect(await supervisor.handle.fileInfo('x/file')).toBeUndefined();
  await expect(supervisor.handle.removeFile('x')).rejects.toMatchObject({ code: 'FILE_FAILED' });
  await supervisor.handle.removeFile('x', { recursive: true });
  expect(await supervisor.handle.listFiles('.')).toEqual([]);
});

test.each([
  ['a missing file', 'missing', 'FILE_NOT_FOUND', 'No such file or directory: missing. Check the path, and list the directory above it to see what is there.'],
  ['a directory', '.', 'FILE_FAILED', '.: is a directory'],
  ['a named pipe', 'pipe', 'FILE_FAILED', 'pipe: is not a regular file'],
  ['a file of root', '/etc/shadow', 'FILE_FAILED', '/etc/shadow: Permission denied'],
])('reading %s is a clear error', async (_what, path, code, message) => {
  await supervisor.handle.run('mkfifo pipe');
  await expect(supervisor.handle.readFile(path)).rejects.toMatchObject({ code, message });
});

test('a link leads no further than the guest could go', async () => {
  const secret = join(supervisor.directory, 'secret');
  writeFileSync(secret, 'of root', { mode: 0o600 });
  symlinkSync(secret, join(supervisor.home, 'link'));
  symlinkSync(supervisor.directory, join(supervisor.home, 'out'));
  await expect(supervisor.handle.readFile('link')).rejects.toMatchObject({ code: 'FILE_FAILED' });
  await expect(supervisor.handle.writeFile('link', 'mine')).rejects.toMatchObject({ code: 'FILE_FAILED' });
  await expect(supervisor.handle.writeFile('out/new', 'mine')).rejects.toMatchObject({ code: 'FILE_FAILED' });
  await expect(supervisor.handle.removeFile('out/secret')).rejects.toMatchObject({ code: 'FILE_FAILED' });
  await supervisor.handle.removeFile('out', { recursive: true });
  expect(statSync(secret).size).toBe(7);
});

test('the guest can neither stop nor kill the work on its files', async () => {
  await supervisor.handle.run('for i in $(seq 40); do mkdir -p d/$i; touch d/$i/{1..50}; done');
  const attack = supervisor.handle.run('for i in $(seq 30); do kill -STOP -1; kill -KILL -1; done', { timeoutMs: 20_000 });
  const listings = await Promise.all([1, 2, 3].map(() => supervisor.handle.listFiles('d', { recursive: true, maxEntries: 20_000 })));
  expect(listings.map((files) => files.length)).toEqual([2040, 2040, 2040]);
  await attack;
});
