import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalSupervisor, until } from '../supervisor/local-supervisor.ts';

let supervisor: LocalSupervisor;
let local: string;
beforeEach(async () => {
  supervisor = await LocalSupervisor.start();
  local = mkdtempSync(join(tmpdir(), 'longshore-transfer-'));
});
afterEach(async () => {
  await supervisor[Symbol.asyncDispose]();
  rmSync(local, { recursive: true, force: true });
});

test('an interrupted stream upload goes on over the next connection', async () => {
  const bytes = randomBytes(9_000_000);
  const source = async function* () {
    for (let position = 0; position < bytes.length; position += 300_000) {
      if (position === 4_500_000) supervisor.connection.disconnect();
      yield bytes.subarray(position, position + 300_000);
    }
  };
  await supervisor.handle.writeFile('big', source());
  expect((await supervisor.handle.readFile('big')).equals(bytes)).toBe(true);
  expect(readdirSync(supervisor.home)).toEqual(['big']);
});

test('a source that fails leaves nothing, and the old file as it was', async () => {
  await supervisor.handle.writeFile('kept', 'old');
  const source = async function* () {
    yield randomBytes(5_000_000);
    throw new Error('the source broke');
  };
  await expect(supervisor.handle.writeFile('kept', source())).rejects.toThrow('the source broke');
  expect(readFileSync(join(supervisor.home, 'kept'), 'utf8')).toBe('old');
  expect(readdirSync(supervisor.home)).toEqual(['kept']);
});

test('a directory goes up over a connection that breaks', async () => {
  for (let number = 0; number < 40; number += 1) writeFileSync(join(local, `file-${number}`), randomBytes(100_000));
  const upload = supervisor.handle.uploadDirectory(local, 'up');
  await until(() => existsSync(join(supervisor.home, 'up', 'file-3')));
  supervisor.connection.disconnect();
  expect(await upload).toMatchObject({ files: 40, bytes: 4_000_000, failed: 0 });
  // What the broken connection had begun is removed when its end is noticed.
  await until(() => readdirSync(join(supervisor.home, 'up')).length === 40);
});

test('a tar that a guest made cannot write through a link of this machine', async () => {
  mkdirSync(join(local, 'outside'));
  mkdirSync(join(local, 'down'));
  symlinkSync(join(local, 'outside'), join(local, 'down', 'a'));
  await supervisor.handle.writeFile('from/a/b', 'evil');
  await supervisor.handle.writeFile('from/c', 'fine');
  const report = await supervisor.handle.downloadDirectory('from', join(local, 'down'));
  expect(report).toMatchObject({ files: 1, failed: 2 });
  expect(readdirSync(join(local, 'outside'))).toEqual([]);
  expect(readFileSync(join(local, 'down', 'c'), 'utf8')).toBe('fine');
});

test('a download is bounded', async () => {
  await supervisor.handle.writeFile('from/a', randomBytes(100_000));
  await expect(supervisor.handle.downloadDirectory('from', join(local, 'down'), { maxBytes: 99_999 })).rejects.toMatchObject({ code: 'FILE_FAILED' });
  expect(readdirSync(join(local, 'down'))).toEqual([]);
});

test('the set-user-id bit does not travel', async () => {
  await supervisor.handle.run('mkdir from; touch from/a; chmod 4755 from/a');
  await supervisor.handle.downloadDirectory('from', join(local, 'down'));
  expect(statSync(join(local, 'down', 'a')).mode & 0o7777).toBe(0o755);
  writeFileSync(join(local, 'b'), '');
  chmodSync(join(local, 'b'), 0o4700);
  await supervisor.handle.uploadDirectory(local, 'back');
  expect(statSync(join(supervisor.home, 'back', 'b')).mode & 0o7777).toBe(0o700);
});

test('a file that cannot be read is reported by name, on both ways', async () => {
  await supervisor.handle.run('mkdir from; touch from/a from/b; chmod 000 from/a; ln -s b from/link');
  const report = await supervisor.handle.downloadDirectory('from', join(local, 'down'));
  expect(report.failures).toEqual([
    { path: 'a', problem: 'Permission denied' },
    { path: 'link', problem: 'is a link' },
  ]);
  expect(existsSync(join(local, 'down', 'b'))).toBe(true);
});

test('a local file that is missing or no file is a clear error', async () => {
  await expect(supervisor.handle.uploadFile(join(local, 'none'), 'x')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  await expect(supervisor.handle.uploadFile(local, 'x')).rejects.toMatchObject({ code: 'FILE_FAILED' });
  await expect(supervisor.handle.uploadDirectory(join(local, 'none'), 'x')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  await expect(supervisor.handle.downloadFile('none', join(local, 'x'))).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  expect(readdirSync(local)).toEqual([]);
});
