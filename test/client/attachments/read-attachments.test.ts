import { execFile } from 'node:child_process';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startOptions } from '../../../src/client/client-arguments.ts';
import { readAttachments } from '../../../src/client/attachments/read-attachments.ts';
import { ATTACHMENT_LIMITS } from '../../../src/contracts/attachments/media.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'attachments-'));
});
afterAll(() => rm(directory, { recursive: true }));

const { bytes, bytesOfMessage, ofMessage } = ATTACHMENT_LIMITS;
const refused = (problem: string | RegExp) => ({ code: 'ATTACHMENT_INVALID', message: expect.stringMatching(problem) as string });

test('bytes, base 64 and files of this machine are read, with their names and what they are', async () => {
  const path = join(directory, 'table.csv');
  await writeFile(path, 'a,b');
  const read = await readAttachments([
    { name: 'a.txt', data: 'QWhveQ==' },
    { name: 'b', mediaType: 'application/zip', data: new Uint8Array([1, 0]) },
    { path, mediaType: 'text/csv' },
    { path, name: 'other.csv' },
  ]);
  expect(read.map(({ name, mediaType, data }) => [name, mediaType, Buffer.from(data).toString()])).toEqual([
    ['a.txt', 'text/plain', 'Ahoy'],
    ['b', 'application/zip', '\x01\0'],
    ['table.csv', 'text/csv', 'a,b'],
    ['other.csv', 'text/plain', 'a,b'],
  ]);
});

test.each(['', '.', '..', '../../x', 'a/b', 'a\\b', '/etc/passwd', 'a\0b', 'a\nb', '\u001b[31m', '\ud800', 'x'.repeat(201)])(
  'the name %j is refused',
  async (name) => {
    await expect(readAttachments([{ name, data: '' }])).rejects.toMatchObject(refused(/^attachments\.0 was refused: its name/));
  },
);

test('what is no base 64, no file, or a pipe is refused, and none of it is waited for', async () => {
  const pipe = join(directory, 'pipe');
  await promisify(execFile)('mkfifo', [pipe]);
  await expect(readAttachments([{ name: 'a', data: 'A' }])).rejects.toMatchObject(refused('no base 64'));
  await expect(readAttachments([{ name: 'a', data: '<b>AAAA' }])).rejects.toMatchObject(refused('no base 64'));
  await expect(readAttachments([{ path: pipe }])).rejects.toMatchObject(refused('no regular file'));
  await expect(readAttachments([{ path: directory }])).rejects.toMatchObject(refused('no regular file'));
  await expect(readAttachments([{ path: join(directory, 'none') }])).rejects.toMatchObject(refused('ENOENT'));
});

test('sizes are limited, and the error names the limit', async () => {
  const huge = join(directory, 'huge');
  await writeFile(huge, '');
  await truncate(huge, 1024 ** 4);
  await expect(readAttachments([{ path: huge }])).rejects.toMatchObject(refused(String(bytes)));
  await expect(readAttachments([{ name: 'a', data: Buffer.alloc(bytes + 1) }])).rejects.toMatchObject(refused(String(bytes)));
  await expect(readAttachments([{ name: 'a', data: 'A'.repeat(100_000_000) }])).rejects.toMatchObject(refused(String(bytes)));
  const large = { name: 'a', data: Buffer.alloc(bytesOfMessage / 2 - 1) };
  await expect(readAttachments([large, large, { name: 'b', data: Buffer.alloc(3) }])).rejects.toMatchObject(refused(`attachments.2.*${bytesOfMessage}`));
});

test('lists that are too long or of another form are refused before anything is read', () => {
  const read = (attachments: unknown) => () => startOptions({ agent: 'a', user: 'b', attachments });
  expect(read(Array.from({ length: 10_000 }, () => ({ name: 'a', data: '' })))).toThrow(`Give at most ${ofMessage} attachments`);
  expect(read([{ name: 'a', data: '', path: 'x' }])).toThrow('it has not one of data and path');
  expect(read([{ name: 'a' }])).toThrow('it has not one of data and path');
  expect(read([{ data: '' }])).toThrow('it has no name');
  expect(read([{ name: 'a', data: 7 }])).toThrow('it is neither bytes nor a text');
  expect(read([{ name: 'a', url: 'https://example.com' }])).toThrow('is no option');
  expect(read('a.png')).toThrow('Give an array');
  expect(startOptions({ agent: 'a', user: 'b', attachments: [{ name: 'a', data: '' }] })).toMatchObject({ message: '' });
});
