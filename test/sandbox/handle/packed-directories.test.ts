import type { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack } from 'tar-stream';
import { packLocal } from '../../../src/sandbox/handle/files/pack-local.ts';
import { createUnpacker } from '../../../src/sandbox/handle/files/unpack-local.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-packed-'));
});
afterEach(() => rm(directory, { recursive: true }));

const fail = (path: string, problem: string) => {
  throw new Error(`${path}: ${problem}`);
};

test('a directory of many files is packed and unpacked whole, and leaves no listeners at its stream', async () => {
  const [from, to] = [join(directory, 'from'), join(directory, 'to')];
  for (const made of [from, to]) await mkdir(made);
  const names = Array.from({ length: 40 }, (_, index) => `file-${String(index).padStart(2, '0')}`);
  for (const name of names) await writeFile(join(from, name), name.repeat(30_000));
  const tar = packLocal(from, fail) as AsyncIterable<Uint8Array> & EventEmitter;
  const unpacker = createUnpacker(to, from, 100_000_000);
  let listeners = 0;
  for await (const chunk of tar) {
    await unpacker.write(Buffer.from(chunk));
    listeners = Math.max(listeners, tar.listenerCount('close'));
  }
  expect(await unpacker.end()).toEqual({ files: 40, bytes: 40 * 7 * 30_000, failures: [] });
  expect(listeners).toBeLessThan(5);
  expect((await readdir(to)).toSorted()).toEqual(names);
  expect(await readFile(join(to, 'file-39'), 'utf8')).toBe('file-39'.repeat(30_000));
});

test.each(['1950-01-01T00:00:00Z', '2100-01-01T00:00:00Z'])('a file keeps the time %s', async (time) => {
  const [from, to] = [join(directory, 'from'), join(directory, 'to')];
  for (const made of [from, to]) await mkdir(made);
  await writeFile(join(from, 'file'), 'x');
  await utimes(join(from, 'file'), new Date(time), new Date(time));
  const unpacker = createUnpacker(to, from, 1000);
  for await (const chunk of packLocal(from, fail)) await unpacker.write(Buffer.from(chunk));
  expect(await unpacker.end()).toEqual({ files: 1, bytes: 1, failures: [] });
  expect((await stat(join(to, 'file'))).mtime).toEqual(new Date(time));
});

const unreadable = '/sys/class/net/lo';
(existsSync(join(unreadable, 'speed')) ? test : test.skip)('a file whose content cannot be read is reported, and the others are packed whole', async () => {
  const failures: string[] = [];
  const unpacker = createUnpacker(directory, unreadable, 10_000_000);
  for await (const chunk of packLocal(unreadable, (path, problem) => failures.push(`${path} ${problem}`))) await unpacker.write(Buffer.from(chunk));
  expect((await unpacker.end()).failures).toEqual([]);
  expect(failures).toContainEqual(expect.stringMatching(/^speed could not be read to its end .*; the rest is zeros$/));
  expect((await readFile(join(directory, 'type'), 'utf8')).replaceAll('\0', '')).toBe('772\n');
  expect(await stat(join(directory, 'uevent'))).toBeDefined();
});

test('names that are not UTF-8 do not become one file', async () => {
  const tar = pack();
  const unpacker = createUnpacker(directory, '/home/user', 1000);
  // As tar-stream reads bytes that are not UTF-8.
  for (const content of ['one', 'other']) tar.entry({ name: 'na\uFFFDme' }, content);
  tar.entry({ name: 'name' }, 'x');
  tar.finalize();
  for await (const chunk of tar as AsyncIterable<Buffer>) await unpacker.write(chunk);
  const problem = 'its name is not UTF-8';
  expect((await unpacker.end()).failures).toEqual([
    { path: 'na\uFFFDme', problem },
    { path: 'na\uFFFDme', problem },
  ]);
  expect(await readdir(directory)).toEqual(['name']);
});

test('who writes more than may be unpacked is told so at the write', async () => {
  await writeFile(join(directory, 'big'), Buffer.alloc(1_000_000));
  await mkdir(join(directory, 'to'));
  const unpacker = createUnpacker(join(directory, 'to'), '/home/user/big', 500_000);
  const unpacking = async () => {
    for await (const chunk of packLocal(directory, fail)) await unpacker.write(Buffer.from(chunk));
  };
  await expect(unpacking()).rejects.toMatchObject({ code: 'FILE_FAILED', message: expect.stringContaining('has more than 500000 bytes') as string });
});

test('a reader that goes away ends the packing', async () => {
  for (const name of ['a', 'b']) await writeFile(join(directory, name), Buffer.alloc(2_000_000));
  let read = 0;
  for await (const chunk of packLocal(directory, fail)) {
    read += chunk.length;
    break;
  }
  expect(read).toBeLessThan(1_000_000);
});
