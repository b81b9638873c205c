import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { placeWhole, writeWhole } from '../../src/platform/place-whole.ts';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'longshore-place-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('a file is there whole, with its mode, in place of another, and nothing beside it', async () => {
  const path = join(directory, 'file');
  await writeWhole(path, 'old');
  await writeWhole(path, 'new', { mode: 0o640 });
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(statSync(path).mode & 0o777).toBe(0o640);
  expect(readdirSync(directory)).toEqual(['file']);
});

test('what fails leaves what was there, and nothing beside it', async () => {
  const path = join(directory, 'file');
  await writeWhole(path, 'old');
  const failing = placeWhole(path, async (beside) => {
    writeFileSync(beside, 'half');
    throw new Error('no more');
  });
  await expect(failing).rejects.toThrow('no more');
  expect(readFileSync(path, 'utf8')).toBe('old');
  expect(readdirSync(directory)).toEqual(['file']);
  await expect(writeWhole(join(directory, 'none', 'file'), 'x')).rejects.toMatchObject({ code: 'ENOENT' });
});

test('many at once in one process do not meet, and a name may be as long as names can be', async () => {
  const path = join(directory, 'n'.repeat(255));
  const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(100_000));
  await Promise.all(contents.map((content) => writeWhole(path, content)));
  expect(contents).toContain(readFileSync(path, 'utf8'));
  expect(readdirSync(directory)).toHaveLength(1);
});

test('what is no file is not replaced by one, nor is a link that leads to it', async () => {
  const [pipe, link] = [join(directory, 'pipe'), join(directory, 'link')];
  execFileSync('mkfifo', [pipe]);
  symlinkSync(pipe, link);
  for (const path of [pipe, link]) await expect(writeWhole(path, 'x')).rejects.toMatchObject({ code: 'EINVAL', message: 'it is a device, a pipe or a socket' });
  expect([lstatSync(pipe).isFIFO(), lstatSync(link).isSymbolicLink()]).toEqual([true, true]);
  expect(readdirSync(directory).toSorted()).toEqual(['link', 'pipe']);
});
