import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { connect, type Chat, type ImportOptions, type Longshore, type StoredEntry } from '../../../src/client.ts';
import { pino } from 'pino';
import { runCommand } from '../../../src/platform/run-command.ts';
import { openDatabase } from '../../../src/store/database/database.ts';
import { deferred } from '../../../src/common/deferred.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, until, type Installation } from '../support.ts';
import { ABOUT, archiveOf, at, packed, type Item } from './make-archive.ts';
import { HI, REFUSED } from './refused-archives.ts';
import { readArchive } from './read-archive.ts';

/** What an export has written becomes a conversation again: through the client, the HTTP API and the command line. */
const MAKE = String.raw`mkdir -p src/deep && echo 'print(1)' > src/main.py && chmod 755 src/main.py && head -c 3000000 /dev/zero > src/deep/big && mkdir empty && chmod 700 empty && : > 'odd "é'`;
const LOOK = `python3 src/main.py && stat -c '%a %U %G %n' . src src/main.py empty && stat -c '%U %a' /home /home/.longshore && sha256sum src/deep/big && touch new src/new empty/new && ls -d odd*`;

let installation: Installation;
let worker: ReturnType<Installation['startWorker']>;
let service: TestApi;
let remote: Longshore;
let source: Chat;
let archive: Buffer;
let directory: string;
beforeAll(async () => {
  installation = await installAgents({
    maker: { steps: [{ call: 'shell:run', with: { command: MAKE } }, { say: 'Made.' }, { call: 'shell:run', with: { command: LOOK } }, { say: 'Seen.' }] },
    small: { sandbox: { diskMb: 20 }, steps: [{ say: 'Hello.' }] },
    forgetful: { sandbox: { persist: false }, steps: [{ say: 'Hello.' }] },
    talker: { steps: [{ say: 'Hello.' }, { say: 'Hello again.' }] },
  });
  worker = installation.startWorker();
  await worker.ready;
  service = await startApi(installation);
  remote = await service.connect(['admin']);
  directory = await mkdtemp(join(tmpdir(), 'longshore-import-'));
  source = await installation.longshore.start({
    agent: 'maker',
    user: 'user-1',
    message: 'Make it.',
    attachments: [{ name: 'notes.txt', mediaType: 'text/plain', data: Buffer.from('high tide at noon') }],
  });
  await source.reply();
  archive = await buffer(await source.export());
}, 180_000);
afterAll(async () => {
  await remote?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
  if (directory) await rm(directory, { recursive: true, force: true });
}, 180_000);

const give = async (bytes: Buffer | Promise<Buffer>, options?: ImportOptions) => installation.longshore.import(Readable.from([await bytes]), options);
const refusal = (bytes: Buffer | Promise<Buffer>, options?: ImportOptions) =>
  give(bytes, { conversationId: 'refused', ...options }).then(
    () => 'imported',
    (error: Error) => error.message,
  );
/** The texts of a message or a result. */
const textsOf = (stored: StoredEntry | undefined) =>
  stored && 'content' in stored.entry ? stored.entry.content.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
const blobOf = (stored: StoredEntry | undefined) =>
  (stored && 'content' in stored.entry ? stored.entry.content : []).flatMap((part) => ('blob' in part ? [part.blob] : []))[0] ?? '';
const report = { entries: 4, attachments: 1, leftOut: [] };

test('goes on with transcript, attachments and files, and an export of it has the same again', async () => {
  const { chat, report: told } = await give(archive);
  const before = await source.transcript();
  const events = (await readArchive(archive)).get('events.jsonl');
  expect(told).toEqual({ ...report, from: told.from, events: events?.trimEnd().split('\n').length, files: { count: 9, bytes: expect.any(Number) as number } });
  expect(told.from.conversationId).toBe(source.id);
  const after = await chat.transcript();
  expect(after.slice(0, -1)).toEqual(before);
  expect(after.at(-1)).toMatchObject({ seq: before.length + 1, turnId: before.at(-1)?.turnId, entry: { role: 'note' } });
  const status = await chat.status();
  expect(status).toMatchObject({
    agentId: 'maker',
    userId: 'user-1',
    tenantId: 'default',
    state: 'idle',
    importedFrom: told.from,
    turnsUsed: 0,
    sandboxTier: 'stopped',
  });
  expect((await chat.attachment(blobOf(before[0]))).name).toBe('notes.txt');

  const again = await readArchive(await chat.export());
  const first = await readArchive(archive);
  expect(again.get('earlier-events.jsonl')).toBe(events);
  const own = ['README.md', 'conversation.json', 'transcript.md', 'transcript.jsonl', 'events.jsonl', 'earlier-events.jsonl'];
  const others = (found: Map<string, string>) => [...found].filter(([name]) => !own.includes(name));
  expect(others(again)).toEqual(others(first));

  // A fork of it has all of that, too.
  const fork = await chat.fork({ message: 'Look.' });
  expect(await fork.reply()).toBe('Seen.');
  await chat.send('Look.');
  expect(await chat.reply()).toBe('Seen.');
  const result = (await chat.transcript()).find(({ seq, entry }) => seq > before.length && entry.role === 'tool');
  const digest = createHash('sha256').update(Buffer.alloc(3_000_000)).digest('hex');
  expect(JSON.parse(textsOf(result))).toMatchObject({
    exitCode: 0,
    stdout: `1\n755 user user .\n755 user user src\n755 user user src/main.py\n700 user user empty\nroot 755\nroot 755\n${digest}  src/deep/big\nodd "é\n`,
  });
}, 180_000);

test('is the same conversation when it is repeated with the same id, through any transport', async () => {
  const first = await give(archive, { conversationId: 'again', user: 'user-2' });
  expect(first.chat.id).toBe('again');
  const direct = await give(archive, { conversationId: 'again', user: 'user-2' });
  const over = await remote.import(Readable.from([archive]), { conversationId: 'again', user: 'user-2' });
  expect([direct.report, over.report, over.chat.id]).toEqual([first.report, first.report, 'again']);
  expect(await over.chat.transcript()).toEqual(await first.chat.transcript());
  const taken = 'The id "again" is taken by another conversation. Choose another, or leave it out to get a new one';
  expect(await refusal(archive, { conversationId: 'again', user: 'user-3' })).toBe(taken);
  expect(await refusal(archiveOf([HI]), { conversationId: 'again', user: 'user-2' })).toBe(taken);
  expect(await refusal(archive, { conversationId: source.id })).toContain('is taken by another conversation');
  const file = join(directory, 'conversation.tar.gz');
  await writeFile(file, archive);
  const line = await runLine(installation.longshore, ['import', file, '--id', 'again', '--user', 'user-2']);
  expect(line).toMatchObject({ code: 0, out: expect.stringMatching(/^again\n/) as string });
  expect(line.out + line.err).toContain(`Imported from ${source.id}, as exported at ${first.report.from.exportedAt}: 4 entries, 1 attachments, 9 files with`);
}, 120_000);

test('may be unpacked and packed again with the usual programs, in the same order', async () => {
  const [before, after] = [join(directory, 'before.tar.gz'), join(directory, 'after.tar.gz')];
  await writeFile(before, archive);
  const order = 'README.md conversation.json transcript.md transcript.jsonl events.jsonl attachments files files-left-out.json';
  const { code } = await runCommand('sh', [
    '-c',
    `mkdir "$1/parts" && tar -xzf "$2" -C "$1/parts" && tar -czf "$3" -C "$1/parts" ${order}`,
    'sh',
    directory,
    before,
    after,
  ]);
  expect(code).toBe(0);
  const { chat, report: told } = await give(await readFile(after));
  expect(told).toMatchObject({ ...report, files: { count: 9 } });
  expect((await chat.transcript()).slice(0, -1)).toEqual(await source.transcript());
}, 60_000);

test('takes the tenant from the caller alone, and needs a scope of its own', async () => {
  const post = async (scopes: Parameters<TestApi['key']>[0], tenant: string, query = '') =>
    fetch(`${service.url}/v1/conversations/import${query}`, {
      method: 'POST',
      body: new Uint8Array(await archiveOf([HI], [], { tenantId: 'default' })),
      headers: await service.key(scopes, tenant),
    });
  expect((await post(['conversations:write'], 'another')).status).toBe(403);
  const made = await post(['conversations:import'], 'another', '?conversationId=of-another');
  expect(made.status).toBe(201);
  expect(await made.json()).toMatchObject({
    conversationId: 'of-another',
    report: { entries: 1, events: 0, files: { count: 0, why: 'the archive has none' } },
  });
  expect(await (await installation.longshore.chat('of-another')).status()).toMatchObject({ tenantId: 'another', userId: 'user-9', agentId: 'talker' });
  expect((await post(['conversations:import'], 'another', '?tenant=default')).status).toBe(400);
  const other = await post(['conversations:import'], 'third', '?conversationId=of-another');
  expect([other.status, ((await other.json()) as { code: string }).code]).toEqual([409, 'CONVERSATION_EXISTS']);
  const broken = await fetch(`${service.url}/v1/conversations/import`, {
    method: 'POST',
    body: 'no archive',
    headers: await service.key(['conversations:import'], 'another'),
  });
  expect([broken.status, ((await broken.json()) as { code: string }).code]).toEqual([400, 'IMPORT_INVALID']);
}, 60_000);

describe('an archive that nobody has checked', () => {
  const withFiles = (...files: Item[]) => archiveOf([HI], files);
  test.each(REFUSED)('is refused, and leaves nothing: %s', async (_what, bytes, problem) => {
    const message = await refusal(bytes);
    if (typeof problem === 'string') expect(message).toContain(problem);
    else expect(message).toMatch(problem);
    expect(await installation.store.conversations.get('refused')).toBeUndefined();
  });

  test('that is a bomb is refused before it fills anything', async () => {
    const bomb = archiveOf([HI], [{ name: 'files/a', bytes: Buffer.alloc(30_000_000) }], { agentId: 'small' });
    expect((await bomb).length).toBeLessThan(100_000);
    expect(await refusal(bomb)).toBe(
      'This archive cannot be imported: its files have more than the 20 MB that a sandbox of the agent may have. Raise diskMb of the agent, or import without files',
    );
    const long = archiveOf([HI], [{ name: 'conversation.json2', bytes: Buffer.alloc(1000) }]);
    expect(await refusal(packed([{ name: 'conversation.json', bytes: Buffer.alloc(5_000_000, 0x20) }]))).toContain(
      'conversation.json has more than 4194304 bytes',
    );
    expect((await give(long, { conversationId: 'left-out' })).report.leftOut).toEqual(['files that no export of this version writes: "conversation.json2"']);
  });

  test('gives no rights: nothing of its modes, owners, tools and missing directories is believed', async () => {
    const { chat, report: told } = await give(
      archiveOf(
        [{ ...HI, clientTools: { open: { description: 'x', parameters: {} } } }],
        [
          { name: 'files/deep/under/run', text: 'echo mine', mode: 0o4777, uid: 0, gid: 0, uname: 'root' },
          { name: './files/deep/late/', type: 'directory', mode: 0o1777 },
        ],
        { agentId: 'maker' },
      ),
    );
    expect(told.leftOut).toEqual(['the client tools that 1 messages declared: declare them again with the next message']);
    expect((await chat.transcript())[0]?.entry).toEqual(HI);
    const files = await readArchive(await chat.export());
    expect([...files.keys()].filter((name) => name.startsWith('files/'))).toEqual([
      'files/deep (directory)',
      'files/deep/late (directory)',
      'files/deep/under (directory)',
      'files/deep/under/run',
    ]);
    const visit = await fetch(`${service.url}/v1/conversations/${chat.id}/files/deep/under/run?info=true`, { headers: await service.key(['admin']) });
    expect(await visit.json()).toMatchObject({ mode: 0o777 });
  }, 60_000);

  test('whose agent keeps no files goes on without them, and says so', async () => {
    const { report: told } = await give(withFiles({ name: 'files/a', text: 'x' }), { agent: 'forgetful' });
    expect(told.files).toEqual({ count: 0, why: 'the agent begins every turn with a new sandbox' });
    const { report: asked } = await give(withFiles({ name: 'files/a', text: 'x' }), { files: false });
    expect(asked.files).toEqual({ count: 0, why: 'they were not asked for' });
  });
});

test('an import that was cut off belongs to nobody until its repetition takes over, and is removed a day later when there is none', async () => {
  const { store, environment, name } = installation;
  const client = await connect({ databaseUrl: environment['DATABASE_URL'] ?? '', taskQueue: name, agents: environment['LONGSHORE_AGENTS'] ?? '' });
  const stuck = async function* () {
    yield archive.subarray(0, archive.length - 100);
    await new Promise(() => undefined);
  };
  const first = client.import(stuck(), { conversationId: 'cut-off' }).catch((error: unknown) => error);
  await until(async () => (await store.transcript.readAll('cut-off')).length === 4, 'its transcript is stored');
  const row = await store.conversations.get('cut-off');
  expect(row?.state).toBe('closed');
  await expect(installation.longshore.start({ agent: 'talker', user: 'user-1', conversationId: 'cut-off' })).rejects.toThrow('is being removed');
  await expect(installation.longshore.send('cut-off', 'Hi.')).rejects.toThrow('is closed');
  const { chat } = await give(archive, { conversationId: 'cut-off' });
  expect(await chat.status()).toMatchObject({ state: 'idle', sandboxTier: 'stopped' });
  await client[Symbol.asyncDispose]();
  expect(await first).toMatchObject({ name: 'AbortError' });
  expect((await chat.transcript()).length).toBe(5);

  const from = { conversationId: 'conv_elsewhere', exportedAt: ABOUT.exportedAt };
  const place = { conversationId: 'given-up', attempt: 'first' };
  if (row) await store.imports.begin({ ...place, status: { ...row.status, conversationId: 'given-up' }, from, digest: 'x' });
  expect(await store.removal.begun(10)).toEqual([]);
  const database = openDatabase({ url: environment['DATABASE_URL'] ?? '', log: pino({ level: 'silent' }), poolSize: 1 });
  await database.query('test.later', "update conversations set removing_at = removing_at - interval '1 day' where conversation_id = 'given-up'", []);
  expect(await store.removal.begun(10)).toEqual(['given-up']);
  await expect(store.imports.addEntries(place, [{ seq: 1, turnId: 'turn_1', at, entry: { role: 'note', text: 'Late.' } }])).rejects.toThrow(
    'This import of "given-up" does not go on: another one with the same id has begun, or it was given up. Import the archive again',
  );
  expect(await store.removal.finish('given-up')).toBe(true);
  await database.close();
}, 60_000);

test('whose worker is killed while it takes the files fails, and is repeated with another worker', async () => {
  const gate = deferred<undefined>();
  const half = async function* () {
    yield large.subarray(0, large.length / 2);
    await gate.promise;
    yield large.subarray(large.length / 2);
  };
  const large = await archiveOf([HI], [{ name: 'files/large', bytes: randomBytes(20_000_000) }], { agentId: 'maker' });
  const begun = installation.longshore.import(half(), { conversationId: 'killed' }).then(
    () => 'imported',
    (error: Error) => error.message,
  );
  await until(async () => (await installation.containers()).some((name) => name.startsWith('copy.')), 'the files are on their way');
  await worker.kill();
  gate.resolve(undefined);
  expect(await begun).not.toBe('imported');
  expect(await installation.store.conversations.get('killed')).toBeUndefined();
  worker = installation.startWorker();
  await worker.ready;
  const { chat, report: told } = await give(large, { conversationId: 'killed' });
  expect(told.files).toEqual({ count: 1, bytes: 20_000_000 });
  expect((await readArchive(await chat.export())).get('files/large')).toMatch(/^[0-9a-f]{64}$/);
}, 120_000);
