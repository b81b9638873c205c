import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { createArchive } from '../../../src/client/export/archive-writer.ts';
import { entryText } from '../../../src/client/export/export-texts.ts';
import { jsonLine, measure, textOf } from '../../../src/client/export/json-lines.ts';

async function* bytes(...pieces: string[]) {
  for (const piece of pieces) yield Buffer.from(piece);
}
async function namesOf(archive: NodeJS.ReadableStream): Promise<string[]> {
  const names: string[] = [];
  const tar = extract();
  const read = pipeline(archive, createGunzip(), tar);
  read.catch(() => undefined);
  for await (const entry of tar) {
    names.push(entry.header.name);
    for await (const _ of entry);
  }
  await read;
  return names;
}

test('an archive that cannot be finished ends with an error, and stops what it is made of', async () => {
  const whole = new AbortController();
  expect(await namesOf(createArchive((archive) => archive.add({ name: 'a', size: 2 }, bytes('x', 'y')), whole))).toEqual(['a']);
  for (const content of [bytes('x'), bytes('xyz')]) {
    const stop = new AbortController();
    await expect(namesOf(createArchive((archive) => archive.add({ name: 'a', size: 2 }, content), stop))).rejects.toThrow();
    expect(stop.signal.aborted).toBe(true);
  }
});

test.each(['1950-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '2038-01-19T03:14:07Z', '2038-01-19T03:14:08Z', '2100-01-01T00:00:00Z'])(
  'other programs read an archive with a file of %s',
  async (time) => {
    const mtime = new Date(time);
    const archive = createArchive((writer) => writer.add({ name: 'a', size: 1, mtime, mode: 0o644 }, bytes('x')), new AbortController());
    const told = promisify(execFile)('tar', ['--utc', '--full-time', '-tvzf', '-']);
    const [, { stdout, stderr }] = await Promise.all([pipeline(archive, told.child.stdin!), told]);
    expect(stderr).toBe('');
    expect(stdout).toContain(`${time.slice(0, 10)} ${time.slice(11, 19)} a`);
  },
);

test('a reader that goes away stops what the archive is made of, however much is to come', async () => {
  const stop = new AbortController();
  let given = 0;
  async function* endless() {
    for (;;) {
      given += 1;
      yield Buffer.from(Array.from({ length: 65_536 }, (_, index) => (index * given * 7919) % 251));
    }
  }
  const ended = new Promise<unknown>((resolve) => {
    const archive = createArchive((writer) => writer.add({ name: 'a', size: 1e12 }, endless()).catch((error: unknown) => resolve(error)), stop);
    archive.once('data', () => archive.destroy());
  });
  expect(await ended).toMatchObject({ name: 'AbortError' });
  expect(stop.signal.aborted).toBe(true);
  expect(given).toBeLessThan(1000);
});

test('rows that come while it is written are left for the next export', async () => {
  const rows = [{ seq: 1 }, { seq: 2 }, { seq: 4 }];
  const pages = { read: async (after: number) => rows.filter(({ seq }) => seq > after).slice(0, 2) };
  const [measured] = await measure(pages, [jsonLine]);
  expect(measured).toEqual({ size: 30, lastSeq: 4, rows: 3 });
  rows.push({ seq: 5 });
  const texts: string[] = [];
  for await (const piece of textOf(pages, jsonLine, 4)) texts.push(piece.toString());
  expect(texts).toEqual(['{"seq":1}\n', '{"seq":2}\n', '{"seq":4}\n']);
});

test('nothing that anybody wrote leaves its block', () => {
  const shown = entryText({
    seq: 1,
    turnId: 'turn_1',
    at: '2026-11-25T00:00:00.000Z',
    entry: { role: 'tool', callId: 'a`b', tool: 'x:y', isError: true, content: [{ type: 'text', text: '``````\n# Heading\u001B[31m' }] },
  });
  expect(shown).toContain('```````text\n``````\n# Heading\\u001b[31m\n```````\n');
  expect(shown).toContain('Of the call `a\\u0060b` of `x:y`');
});

test('a message says which client tools it declares', () => {
  const tool = { description: 'Greets.', parameters: {}, timeoutMs: 1000, otherwise: 'fail' as const, requireApproval: false };
  const shown = (clientTools: Record<string, typeof tool>) =>
    entryText({ seq: 1, turnId: 'turn_1', at: '2026-11-25T00:00:00.000Z', entry: { role: 'user', content: [{ type: 'text', text: 'Go.' }], clientTools } });
  expect(shown({ greet: tool, wave: tool })).toContain('Declares the client tools from here on: `greet`, `wave`. Their schemas are in transcript.jsonl.\n\n');
  expect(shown({})).toContain('Declares no client tools from here on.\n\n');
});
