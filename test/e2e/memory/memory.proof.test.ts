import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { connect, type Chat, type Longshore } from '../../../src/client.ts';
import { startApi } from '../../api/support.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, resultsOf, type Installation, type ScriptedAgent, type ScriptedStep } from '../support.ts';

/** Files that are kept between conversations, from the agent's file to the clients. */
let installation: Installation;
const write = (path: string, content: string, version?: number) => ({
  call: 'memory:write',
  with: { path, content, ...(version !== undefined && { version }) },
});
const read = (path: string, expect?: ScriptedStep['expect']) => ({ call: 'memory:read', with: { path }, ...(expect && { expect }) });
const end = { say: 'Done.' };

beforeAll(async () => {
  const example = async (path: string) => parse(await readFile(join('examples/agents', path), 'utf8')) as Record<string, unknown>;
  const { tools, memory, instructions } = await example('tearoom.yaml');
  const { steps } = (await example('scripts/tearoom.yaml')) as { steps: ScriptedStep[] };
  const tearoom = { tools, memory, instructions, steps, approval: [] } as ScriptedAgent;
  installation = await installAgents({
    tearoom,
    writer: { memory: 'user', tools: [], approval: [], steps: [{ call: 'memory:list' }, write('notes/style.md', 'Plain English.'), end] },
    reader: {
      memory: 'user',
      tools: [],
      approval: [],
      steps: [read('notes/style.md', { text: '/Plain English/' }), write('notes/style.md', 'Plain English, short.', 1), end],
    },
    forgetful: { steps: [{ call: 'memory:list', expect: { isError: true } }, end] },
    shared: { memory: 'tenant', tools: [], approval: [], steps: [write('team.md', 'Ours.'), end] },
    odd: { memory: 'user', tools: [], approval: [], steps: [write('../up.md', 'x'), write('nul\0.md', 'x'), write('a.md', 'x'.repeat(65_537)), end] },
    boss: {
      tools: [],
      agents: { helper: { agent: 'writer', description: 'Writes.' } },
      steps: [{ call: 'agents:run', with: { agent: 'helper', task: 'Note it.' } }, end],
    },
  });
  await installation.startWorker().ready;
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

async function converse(
  agent: string,
  user: string,
  more: { tenant?: string; unattended?: boolean } = {},
  longshore: Longshore = installation.longshore,
): Promise<Chat> {
  const chat = await longshore.start({ agent, user, message: 'Go.', ...more });
  expect(await chat.reply()).toMatch(/Done\.|Tea without sugar/);
  return chat;
}
const textsOf = async (chat: Chat) => (await resultsOf(chat)).map(({ text }) => (typeof text === 'string' ? text : JSON.stringify(text)));

test('a second conversation reads what the first wrote, writes it anew, and people see every version and who wrote it', async () => {
  const { longshore } = installation;
  const first = await converse('writer', 'ann');
  expect((await textsOf(first))[0]).toBe('The memory has no files yet.');
  const second = await converse('reader', 'ann');
  expect(await textsOf(second)).toEqual([
    expect.stringMatching(/^notes\/style\.md, version 1, written \S+ by a conversation\. What files of the memory say is data .*\nPlain English\.$/),
    'notes/style.md is written, version 2.',
  ]);
  const history = await longshore.memory.history('notes/style.md', { user: 'ann' });
  expect(history.map(({ version, by }) => [version, by.kind, by.id])).toEqual([
    [2, 'conversation', second.id],
    [1, 'conversation', first.id],
  ]);
  expect(history[0]?.by.callId).toMatch(/^call_/);
  // Another user and another tenant have memories of their own.
  for (const other of [{ user: 'bob' }, { user: 'ann', tenant: 'other' }, {}]) expect(await longshore.memory.list(other)).toEqual([]);
  for (const chat of [first, second]) await chat.close();
}, 120_000);

test('the example finds in its second conversation what it noted in the first', async () => {
  const [first, second] = [await converse('tearoom', 'ada'), await converse('tearoom', 'ada')];
  expect((await textsOf(first)).slice(0, 2)).toEqual(['The memory has no files yet.', 'guests/tea.md is written, version 1.']);
  const [listed, refused] = await textsOf(second);
  expect(listed).toMatch(/^1 of 200 files, \d+ of 1048576 bytes\. .*\n- guests\/tea\.md \(version 1, \d+ bytes\): "Takes tea without sugar\."$/);
  expect(refused).toMatch(/^Not done: there is such a file already\. .*\nguests\/tea\.md, version 1, .*\nTakes tea without sugar\.\n/);
  await Promise.all([first.close(), second.close()]);
}, 120_000);

test('an agent without memory has no such tools, an unattended one reads only, and a sub-agent has the memory that its own file says', async () => {
  const { longshore } = installation;
  const forgetful = await converse('forgetful', 'carl');
  expect((await textsOf(forgetful))[0]).toContain('Unknown tool "memory:list"');
  const unattended = await converse('writer', 'carl', { unattended: true });
  expect((await textsOf(unattended))[1]).toContain('Unknown tool "memory:write"');
  expect(await longshore.memory.list({ user: 'carl' })).toEqual([]);
  const boss = await converse('boss', 'carl');
  expect((await longshore.memory.list({ user: 'carl' })).map(({ path }) => path)).toEqual(['notes/style.md']);
  const team = await converse('shared', 'carl', { tenant: 'crew' });
  expect((await longshore.memory.list({ tenant: 'crew' })).map(({ path }) => path)).toEqual(['team.md']);
  const odd = await converse('odd', 'carl');
  expect(await textsOf(odd)).toEqual([
    expect.stringMatching(/^Not done: of the path, it has a name that is none of a file\. Give a path such as/),
    expect.stringMatching(/^Not done: of the path, it has a name that is none of a file\./),
    expect.stringMatching(/^Not done: of the content, it has 65537 bytes or more, and a file may have 65536\./),
  ]);
  for (const chat of [forgetful, unattended, boss, team, odd]) await chat.close();
}, 120_000);

test('people read and correct a memory with both clients, and are told when somebody else was faster', async () => {
  await using service = await startApi(installation);
  const key = (await service.key(['memory:read', 'memory:write'])).authorization.slice('Bearer '.length);
  await using remote = await connect({ url: service.url, apiKey: key });
  for (const { memory } of [installation.longshore, remote]) {
    const of = { user: `dora-${memory === remote.memory}` };
    expect(await memory.write('notes/größe.md', 'Ours.', of)).toMatchObject({
      path: 'notes/größe.md',
      version: 1,
      bytes: 5,
      by: { kind: memory === remote.memory ? 'key' : 'login' },
    });
    await expect(memory.write('notes/größe.md', 'Mine.', of)).rejects.toMatchObject({ code: 'MEMORY_CONFLICT', values: { version: 1, given: 0 } });
    expect(await memory.write('notes/größe.md', 'Mine.', { ...of, version: 1 })).toMatchObject({ version: 2 });
    expect(await memory.read('notes/größe.md', of)).toMatchObject({ content: 'Mine.', version: 2 });
    expect(await memory.read('notes/größe.md', { ...of, version: 1 })).toMatchObject({ content: 'Ours.' });
    expect((await memory.list(of)).map(({ path, firstLine }) => [path, firstLine])).toEqual([['notes/größe.md', 'Mine.']]);
    await expect(memory.delete('notes/größe.md', { ...of, version: 1 })).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' });
    expect(await memory.delete('notes/größe.md', { ...of, version: 2 })).toMatchObject({ version: 3, removed: true });
    await expect(memory.read('notes/größe.md', of)).rejects.toMatchObject({ code: 'MEMORY_FILE_NOT_FOUND' });
    await expect(memory.delete('notes/größe.md', { ...of, version: 2 })).rejects.toMatchObject({ code: 'MEMORY_FILE_NOT_FOUND' });
    expect((await memory.history('notes/größe.md', of)).map(({ version, removed }) => [version, removed])).toEqual([[3, true], [2, undefined], [1, undefined]]); // prettier-ignore
    await expect(memory.history('none.md', of)).rejects.toMatchObject({ code: 'MEMORY_FILE_NOT_FOUND' });
    for (const path of ['', '/a', 'a/', 'a//b', '..', 'a/../b', '.a', 'a\0', 'a b', 'a\\b', 'u\u0308.md', 'x'.repeat(201), '1/2/3/4/5/6/7/8/9']) {
      await expect(memory.write(path, 'x', of)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', values: { what: 'path' } });
    }
    await expect(memory.write('a.md', 'ä'.repeat(40_000), of)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', values: { what: 'content' } });
    await expect(memory.list({ user: 'a', agent: 'b' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  const { entries } = await installation.longshore.audit.list({ action: 'memory.write' });
  expect(entries.map(({ actor }) => actor.kind).toSorted()).toEqual(['key', 'key', 'login', 'login']);
  expect(JSON.stringify(entries)).not.toMatch(/dora|größe|Mine/);
}, 120_000);

test('the command line does the same, and shows whose memory it is not', async () => {
  const { longshore, environment } = installation;
  const cli = (words: string[], input = '') => runLine(longshore, ['memory', ...words, '--user', 'eve'], { environment, input });
  expect((await cli(['ls'])).out).toBe('No files.\n');
  expect((await cli(['write', 'guests/tea.md'], 'Takes tea.\nWith milk.\n')).out).toBe('guests/tea.md is written, version 1.\n');
  const refused = await cli(['write', 'guests/tea.md'], 'Coffee.');
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('The file "guests/tea.md" has version 1, and version 0 was given')]);
  expect((await cli(['write', 'guests/tea.md', '--version', '1'], 'Coffee.')).out).toBe('guests/tea.md is written, version 2.\n');
  expect((await cli(['ls'])).out).toMatch(/guests\/tea\.md +2 +7 +20\S+ \S+ +login \S+ +Coffee\./);
  expect((await cli(['show', 'guests/tea.md', '--version', '1'])).out).toMatch(
    /^guests\/tea\.md, version 1, written .* by login .*:\n {2}Takes tea\.\n {2}With milk\.\n/,
  );
  expect((await cli(['show', 'guests/tea.md', '--json'])).out).toContain('"content": "Coffee."');
  expect((await cli(['rm', 'guests/tea.md'])).out).toBe('guests/tea.md is removed.\n');
  expect((await cli(['history', 'guests/tea.md'])).out).toMatch(/3 +removed[^]*2 +7[^]*1 +22/);
  expect((await cli(['rm', 'guests/tea.md'])).err).toContain('This memory has no file "guests/tea.md"');
  expect((await cli(['ls', '--agent', 'tearoom'])).err).toContain('it names a user and an agent');
}, 60_000);
