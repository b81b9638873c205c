import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Chat, Longshore } from '../../../src/client.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, until, type Installation } from '../support.ts';
import { readArchive } from './read-archive.ts';

/** A conversation as one file: the same through the client, the HTTP API and the command line. */
const MAKE = String.raw`mkdir -p src/deep && echo 'print(1)' > src/main.py && chmod 755 src/main.py && head -c 3000000 /dev/zero > src/deep/big && ln -s src link && : > 'odd "é' && : > "$(printf 'raw\377')"`;
const HOSTILE = '# Not a heading\n```\nsh\n```\u202e \u0007';

let installation: Installation;
let service: TestApi;
let remote: Longshore;
let chat: Chat;
let directory: string;
beforeAll(async () => {
  installation = await installAgents({
    maker: { steps: [{ call: 'shell:run', with: { command: MAKE } }, { say: HOSTILE }] },
    talker: { steps: [{ say: 'Hello.' }] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  remote = await service.connect(['admin']);
  directory = await mkdtemp(join(tmpdir(), 'longshore-export-'));
  chat = await installation.longshore.start({ agent: 'maker', user: 'user-1', message: HOSTILE });
  await chat.reply();
}, 180_000);
afterAll(async () => {
  await remote?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
  if (directory) await rm(directory, { recursive: true, force: true });
}, 180_000);

const linesOf = (text: string | undefined) =>
  (text ?? '')
    .trimEnd()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
const withoutTime = (found: Map<string, string>) => new Map([...found].map(([name, text]) => [name, text.replace(/"exportedAt": "[^"]*"/, '')]));

test('has texts for people and for programs, the log and the files, in the same order each time', async () => {
  const found = await readArchive(await chat.export());
  expect([...found.keys()]).toEqual([
    'README.md',
    'conversation.json',
    'transcript.md',
    'transcript.jsonl',
    'events.jsonl',
    'files/.bash_logout',
    'files/.bashrc',
    'files/.profile',
    'files/odd "é',
    'files/src (directory)',
    'files/src/deep (directory)',
    'files/src/main.py',
    'files/src/deep/big',
    'files-left-out.json',
  ]);
  expect(found.get('files/src/main.py')).toBe('print(1)\n');
  expect(found.get('files/src/deep/big')).toBe(createHash('sha256').update(Buffer.alloc(3_000_000)).digest('hex'));
  expect(linesOf(found.get('transcript.jsonl'))).toEqual(await chat.transcript());
  const events = linesOf(found.get('events.jsonl')) as { seq: number; type: string }[];
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events[0]?.type).toBe('conversation.started');
  const about = JSON.parse(found.get('conversation.json') ?? '') as object;
  expect(about).toMatchObject({
    format: 'longshore-conversation',
    version: 1,
    conversationId: chat.id,
    agentId: 'maker',
    userId: 'user-1',
    files: { included: true },
  });
  expect(JSON.parse(found.get('files-left-out.json') ?? '')).toEqual({
    leftOut: 2,
    listed: [
      { path: expect.stringMatching(/^raw/) as string, problem: 'its name is not UTF-8' },
      { path: 'link', problem: 'is a link' },
    ],
  });
  const shown = found.get('transcript.md') ?? '';
  expect(shown).toContain('````text\n# Not a heading\n```\nsh\n```\\u202e \\u0007\n````\n');
  expect(withoutTime(await readArchive(await remote.export(chat)))).toEqual(withoutTime(found));
}, 120_000);

test('is written to a file by the command line, and without files it does not touch the sandbox', async () => {
  const out = join(directory, 'conversation.tar.gz');
  expect(await runLine(installation.longshore, ['export', chat.id, '--out', out])).toMatchObject({ code: 0, out: `${chat.id} is in ${out}.\n` });
  expect([...(await readArchive(await readFile(out))).keys()]).toContain('files/src/main.py');
  const nowhere = join(directory, 'none', 'conversation.tar.gz');
  expect(await runLine(installation.longshore, ['export', chat.id, '--out', nowhere])).toEqual({
    code: 2,
    out: '',
    err: `--out: ${nowhere} cannot be written (no such file or directory). Name a file in a directory that you can write to, or give --out - for a program\n`,
  });
  const talker = await installation.longshore.start({ agent: 'talker', user: 'user-1', message: 'Hi.' });
  await talker.reply();
  const found = await readArchive(await talker.export());
  expect([...found.keys()]).toEqual(['README.md', 'conversation.json', 'transcript.md', 'transcript.jsonl', 'events.jsonl']);
  expect(found.get('README.md')).toContain('There are no files: the conversation has had no sandbox.');
  const plain = await readArchive(await remote.export(chat.id, { files: false }));
  expect(plain.get('README.md')).toContain('There are no files: they were not asked for.');
}, 120_000);

test('needs the scope of files for files, belongs to one tenant, and says when the sandbox is gone', async () => {
  const ask = async (scope: 'conversations:read', tenant: string, query = '') =>
    fetch(`${service.url}/v1/conversations/${chat.id}/export${query}`, { headers: await service.key([scope], tenant) });
  expect((await ask('conversations:read', 'default')).status).toBe(403);
  const allowed = await ask('conversations:read', 'default', '?files=false');
  expect(allowed.status).toBe(200);
  await allowed.body?.cancel();
  expect((await ask('conversations:read', 'another', '?files=false')).status).toBe(404);
  // A reader that goes away ends the export.
  const begun = await remote.export(chat.id);
  begun.destroy();
  await chat.close();
  await until(async () => (await installation.store.sandboxes.ofConversation(chat.id))?.state === 'destroyed', 'its sandbox is gone');
  const found = await readArchive(await chat.export());
  expect(found.get('README.md')).toContain('There are no files: the sandbox was removed with its files when the conversation ended.');
}, 120_000);
