import { Client } from 'pg';
import type { Chat } from '../../../src/client.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, until, untilEvent, type Installation } from '../support.ts';
import { lastOutput, say } from './talk.ts';

/** Removal of a source leaves its forks whole, and removal of a fork its source; an erasure of their user removes all. A fork counts as a conversation. */
const TABLES = [
  'conversations',
  'forks',
  'transcript',
  'transcript_parts',
  'kept_entries',
  'rewinds',
  'checkpoints',
  'media',
  'media_uses',
  'sandboxes',
  'events',
];

let installation: Installation;
let service: TestApi;
beforeAll(async () => {
  const writes = (text: string) => ({ call: 'shell:run', with: { command: `cat notes 2>/dev/null; echo ${text} > notes` } });
  const steps = ['one', 'two', 'three', 'four', 'five'].flatMap((text) => [writes(text), { say: `Wrote ${text}.` }]);
  installation = await installAgents({ keeper: { checkpoints: 'turn', steps } });
  service = await startApi(installation);
}, 180_000);
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
}, 180_000);

const line = (...words: string[]) => runLine(installation.longshore, words, { environment: installation.environment });
async function start(tenant: string): Promise<Chat> {
  const attachments = [{ name: 'chart.txt', data: Buffer.from(`The chart of ${tenant}.`) }];
  const chat = await installation.longshore.start({ agent: 'keeper', user: 'user-1', tenant, message: 'Go.', attachments });
  expect(await chat.reply()).toBe('Wrote one.');
  return chat;
}
const said = async (chat: Chat) =>
  (await chat.transcript()).flatMap(({ entry, rewound }) =>
    entry.role === 'user' && !rewound ? entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [],
  );
const isReady = (fork: Chat) => untilEvent(fork, ({ type }) => type === 'fork.ready');

/** Closes them; a worker removes what is closed for longer than its tenant keeps it when it starts. */
async function removeAll(tenant: string, chats: Chat[]): Promise<void> {
  for (const chat of chats) {
    await chat.close();
    for await (const _ of chat.events());
  }
  const { err } = await line('retention', 'set', tenant, '1ms');
  expect(err).toBe('');
  const worker = installation.startWorker();
  await worker.ready;
  for (const { id } of chats) await until(async () => (await installation.store.conversations.get(id)) === undefined, `${id} is removed`);
  await worker.stop();
  await line('retention', 'set', tenant, 'keep');
}

async function census(): Promise<Record<string, number>> {
  const client = new Client({ connectionString: installation.environment['DATABASE_URL'] });
  await client.connect();
  try {
    const counts: Record<string, number> = {};
    for (const table of TABLES) counts[table] = (await client.query<{ count: number }>(`select count(*)::int as count from ${table}`)).rows[0]?.count ?? 0;
    return counts;
  } finally {
    await client.end();
  }
}
const NOTHING = Object.fromEntries(TABLES.map((table) => [table, 0]));

test('a fork is whole when its source is gone, and the source when a fork is gone; with the last one, nothing is left', async () => {
  const worker = installation.startWorker();
  await worker.ready;
  const chat = await start('north');
  expect(await say(chat, 'More.')).toBe('Wrote two.');
  const fork = await chat.fork({ message: 'Else.' });
  expect(await fork.reply()).toBe('Wrote three.');
  const deeper = await fork.fork({ message: 'Deeper.' });
  expect(await deeper.reply()).toBe('Wrote four.');
  const other = await chat.fork();
  await isReady(other);

  // Forks go, and the source stays.
  const before = JSON.stringify(await chat.transcript());
  await removeAll('north', [other, fork]);
  expect(JSON.stringify(await chat.transcript())).toBe(before);
  expect(await chat.status()).toEqual(expect.not.objectContaining({ forks: expect.anything() as unknown }));
  expect(await installation.longshore.list({ forkedFrom: chat.id })).toEqual([]);
  expect(await say(chat, 'Still there?')).toBe('Wrote three.');

  // The source goes, and the fork of a fork stays, with attachments, checkpoints, and what can be forked.
  await removeAll('north', [chat]);
  await expect(chat.status()).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  expect(await said(deeper)).toEqual(['Go.', 'More.', 'Else.', 'Deeper.']);
  const [attachment] = (await deeper.transcript()).flatMap(({ entry }) => (entry.role === 'user' ? entry.content : [])).filter(({ type }) => type === 'file');
  expect(attachment).toMatchObject({ name: 'chart.txt' });
  const [first, second] = await deeper.checkpoints();
  const beginning = await deeper.fork({ at: first?.checkpointId ?? '' });
  expect(await say(beginning, 'Anew.')).toBe('Wrote two.');
  expect(await lastOutput(beginning)).toBe('one\n');
  await deeper.rewind(second?.checkpointId ?? '');
  expect(await said(deeper)).toEqual(['Go.', 'More.']);
  expect(await say(deeper, 'Again.')).toBe('Wrote three.');
  expect(await lastOutput(deeper)).toBe('two\n');

  await removeAll('north', [deeper, beginning]);
  expect(await census()).toEqual(NOTHING);
  await worker.stop();
}, 180_000);

test('an erasure of the user removes sources and forks in whatever state', async () => {
  const worker = installation.startWorker();
  await worker.ready;
  const chat = await start('south');
  const fork = await chat.fork();
  await isReady(fork);
  const deeper = await fork.fork({ message: 'Deeper.' });
  await deeper.reply();
  await removeAll('south', [chat]);
  await fork.close();
  const done = await line('erase', '--tenant', 'south', '--user', 'user-1', '--yes');
  expect([done.err, done.code, done.out]).toEqual(['', 0, expect.stringContaining('Removed: 2 conversations')]);
  expect(await census()).toEqual(NOTHING);
  await worker.stop();
}, 180_000);

test('a fork whose source is removed before it has its files is closed, and says why; with files none it goes on', async () => {
  const worker = installation.startWorker();
  await worker.ready;
  const chat = await start('west');
  await worker.stop();
  // No worker runs: the forks wait for their files.
  const forks = await Promise.all([chat.fork({ message: 'On.' }), chat.fork({ files: 'now', message: 'On.' }), chat.fork({ files: 'none' })]);
  const { removal, sandboxes, conversations } = installation.store;
  const row = await sandboxes.ofConversation(chat.id);
  await conversations.close(chat.id, {});
  await sandboxes.change(row?.sandboxId ?? '', row?.generation ?? 0, { state: 'destroyed' });
  expect([await removal.begin(chat.id), await removal.finish(chat.id)]).toEqual([true, true]);
  const next = installation.startWorker();
  await next.ready;
  const [exact, now, none] = forks;
  for (const fork of [exact, now]) {
    let problem: unknown;
    for await (const { type, data } of fork.events()) if (type === 'fork.failed') problem = data['problem'];
    expect(problem).toContain(`The files that "${chat.id}" had there are not known: it has no sandbox now.`);
    expect(await said(fork)).toEqual(['Go.']);
    await expect(fork.reply()).rejects.toMatchObject({ code: 'TURN_FAILED', values: { problem: `the fork could not get its files: ${String(problem)}` } });
  }
  expect(await say(none, 'On.')).toBe('Wrote two.');
  await next.stop();
}, 180_000);

test('a fork that waits for its files counts in the limit of running conversations, and is refused beyond it', async () => {
  const worker = installation.startWorker();
  await worker.ready;
  const chat = await start('east');
  await until(async () => (await chat.status()).state === 'idle', 'it is idle');
  await worker.stop();
  await installation.longshore.limits.set({ tenant: 'east', runningConversations: 2 });
  const { authorization } = await service.key(['conversations:read', 'conversations:write'], 'east');
  const headers = { authorization, 'content-type': 'application/json' };
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${service.url}/v1/conversations${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answer.status, ...((await answer.json()) as { conversationId?: string; code?: string; values?: object }) };
  };
  const made = [await post(`/${chat.id}/fork`, {}), await post(`/${chat.id}/fork`, {})];
  expect(made.map(({ status }) => status)).toEqual([201, 201]);
  const refusal = { status: 429, code: 'LIMIT_REACHED', values: { limit: 'runningConversations', of: 'tenant', allowed: 2 } };
  expect(await post(`/${chat.id}/fork`, {})).toMatchObject(refusal);
  expect(await post('', { agent: 'keeper', user: 'user-1', message: 'Go.' })).toMatchObject(refusal);
  expect((await installation.longshore.list({ forkedFrom: chat.id })).length).toBe(2);
  const next = installation.startWorker();
  await next.ready;
  for (const { conversationId = '' } of made)
    await until(async () => (await installation.store.conversations.get(conversationId))?.state === 'idle', 'it is ready');
  expect((await post(`/${chat.id}/fork`, {})).status).toBe(201);
  await next.stop();
}, 180_000);
