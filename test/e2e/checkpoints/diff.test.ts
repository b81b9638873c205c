import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Chat, Longshore } from '../../../src/client.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, until, type Installation } from '../support.ts';

/** What has changed in a sandbox since a checkpoint, through the client, the HTTP API and the command line, and as a patch for git. */
const FIRST = String.raw`mkdir -p notes && seq 1 50 > notes/list && printf 'no end' > tail && echo old > gone && echo run > tool && ln -s tail link && printf 'a\0b' > data && : > blank`;
const SECOND = String.raw`sed -i s/25/twenty-five/ notes/list && printf 'no end\nbut more' > tail && rm gone && chmod +x tool && ln -sfn tool link && printf 'a\0c' > data && echo new > 'a "new" é' && : > "$(printf 'raw\377')" && head -c 5000000 /dev/zero > huge && mkdir -p .git && echo x > .git/config`;

const run = promisify(execFile);
let installation: Installation;
let service: TestApi;
let remote: Longshore;
let chat: Chat;
let directory: string;
beforeAll(async () => {
  const shell = (command: string) => ({ call: 'shell:run', with: { command } });
  installation = await installAgents({
    keeper: {
      checkpoints: 'turn',
      steps: [shell(FIRST), { say: 'First.' }, shell(SECOND), { say: 'Second.' }, shell('echo late > late; exit 1'), { say: 'Third.' }],
    },
    plain: { steps: [shell('echo one > one'), { say: 'Done.' }] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  remote = await service.connect(['admin']);
  directory = await mkdtemp(join(tmpdir(), 'longshore-diff-'));
  chat = await installation.longshore.start({ agent: 'keeper', user: 'user-1', message: 'Go.' });
  await chat.reply();
  const { turnId } = await chat.send('More.');
  await chat.reply(turnId);
}, 180_000);
afterAll(async () => {
  await remote?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
  if (directory) await rm(directory, { recursive: true, force: true });
}, 180_000);

const idsOf = async () => (await chat.checkpoints()).map(({ checkpointId }) => checkpointId);

test('both transports list the same changes between two checkpoints, and nothing since the newest one', async () => {
  const [from, to] = await idsOf();
  const found = await chat.diff({ from: from ?? '', to: to ?? '' });
  expect(Object.fromEntries(found.changes.map(({ path, change }) => [path, change]))).toEqual({
    '.git': 'added',
    '.git/config': 'added',
    'a "new" é': 'added',
    data: 'changed',
    gone: 'removed',
    huge: 'added',
    link: 'changed',
    'notes/list': 'changed',
    'raw\udcff': 'added',
    tail: 'changed',
    tool: 'mode',
  });
  expect(found).toMatchObject({ from: { checkpointId: from }, to: { checkpointId: to }, changed: 11, notListed: 0, leftOut: 3, unreadable: 0 });
  expect(found.changes.find(({ path }) => path === 'notes/list')?.lines).toEqual({ added: 1, removed: 1, exact: true });
  expect(found.changes.find(({ path }) => path === 'huge')?.leftOut).toMatch(/too large/);
  expect({ ...(await remote.diff(chat.id, { from: from ?? '', to: to ?? '' })), woken: false }).toEqual({ ...found, woken: false });
  const since = await chat.diff();
  expect(since).toMatchObject({ from: { checkpointId: to }, changes: [], changed: 0 });
  expect(since.to.checkpointId).toBeUndefined();
  expect(await chat.diff({ from: to ?? '', to: to ?? '' })).toMatchObject({ changed: 0, woken: false });
}, 120_000);

test('git makes the later files of the earlier ones with the patch, which names what it leaves out', async () => {
  const [from] = await idsOf();
  const { patch } = await chat.diff({ from: from ?? '', patch: true });
  const text = Buffer.from(patch ?? '').toString();
  expect(text).toContain('# left out: huge: it has 5000000 bytes, which is too large to be compared\n');
  expect(text).toContain('# left out: .git/config: git writes nothing into a directory of this name\n');
  const sent = await remote.diff(chat.id, { from: from ?? '', patch: true });
  expect(Buffer.from(sent.patch ?? '')).toEqual(Buffer.from(patch ?? ''));
  const [before, after] = [join(directory, 'before'), join(directory, 'after')];
  for (const [place, commands] of [
    [before, [FIRST]],
    [after, [FIRST, SECOND, 'rm -r huge .git']],
  ] as const) {
    await run('mkdir', [place]);
    for (const command of commands) await run('bash', ['-ec', command], { cwd: place });
  }
  await writeFile(join(directory, 'patch'), patch ?? '');
  await run('git', ['apply', join(directory, 'patch')], { cwd: before, env: { ...process.env, GIT_CEILING_DIRECTORIES: directory } });
  await run('diff', ['-r', '--no-dereference', before, after]);
  const { stdout } = await run('bash', ['-c', `stat -c %a ${before}/tool; readlink ${before}/link`]);
  expect(stdout).toBe('755\ntool\n');
}, 120_000);

test('the command line says what is compared, and writes the patch as it is', async () => {
  const [from, to] = await idsOf();
  const shown = await runLine(installation.longshore, ['diff', chat.id, from ?? '', 'notes', './tail']);
  expect(shown).toMatchObject({ code: 0, err: expect.stringMatching(`From checkpoint ${from} .* to the files as they are now`) as string });
  expect(shown.out).toMatch(/changed +\d+ -> \d+ +\+1 -1 +notes\/list/);
  expect(shown.out).toContain('2 paths, 3 lines added, 2 removed');
  const printed = await runLine(installation.longshore, ['diff', chat.id, from ?? '', to ?? '', '--patch', 'tail']);
  expect(printed.out).toContain('\n-no end\n\\ No newline at end of file\n+no end\n+but more\n\\ No newline at end of file\n');
}, 120_000);

test('what cannot be compared is an error that says why', async () => {
  await expect(chat.diff({ from: 'cp_9_none' })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
  await expect(remote.diff(chat.id, { paths: ['../x'] })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const plain = await installation.longshore.start({ agent: 'plain', user: 'user-1', message: 'Go.' });
  await plain.reply();
  await expect(plain.diff()).rejects.toMatchObject({ code: 'CHECKPOINTS_ABSENT' });
  const { turnId } = await chat.send('Last.');
  await chat.reply(turnId);
  await chat.close();
  await until(async () => (await installation.store.sandboxes.ofConversation(chat.id))?.state === 'destroyed', 'its sandbox is gone');
  await expect(chat.diff()).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  await expect(remote.diff(chat.id)).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
}, 120_000);
