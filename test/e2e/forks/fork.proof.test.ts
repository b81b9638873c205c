import { Client, Connection } from '@temporalio/client';
import { Client as PgClient } from 'pg';
import { connect, type Chat } from '../../../src/client.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, until, untilEvent, type Installation } from '../support.ts';

/** Forks of conversations, from the agent's file to the client, the HTTP API and the command line. */
let installation: Installation;
let service: TestApi;

const writes = (text: string) => ({ call: 'shell:run', with: { command: `cat notes log 2>/dev/null; echo ${text} > notes && echo ${text} >> log` } });

beforeAll(async () => {
  // A scripted model counts the answers that it reads: a fork goes on from there.
  const steps = [writes('one'), { say: 'First.' }, writes('two'), { say: 'Second.' }, writes('three'), { say: 'Third.' }, writes('four'), { say: 'Fourth.' }];
  installation = await installAgents({
    keeper: { checkpoints: 'turn', steps },
    stepper: { checkpoints: 'step', steps: [writes('one'), writes('two'), { say: 'Done.' }, { say: 'Else done.' }] },
    plain: { steps },
    sleeper: { steps: [writes('one'), { say: 'First.' }, { call: 'shell:run', with: { command: 'echo half > notes; sleep 600' } }, { say: 'Late.' }] },
    waiter: {
      checkpoints: 'turn',
      steps: [writes('one'), { say: 'First.' }, { call: 'shell:run', with: { command: 'until test -e go; do sleep 0.1; done' } }],
    },
    talker: { steps: [{ say: 'Hello.' }, { say: 'Again.' }, { say: 'And again.' }] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
}, 180_000);
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
}, 180_000);

const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Go.' });

async function say(chat: Chat, text: string): Promise<string> {
  const { turnId } = await chat.send(text);
  return chat.reply(turnId);
}

/** What the last command of the conversation printed. */
async function lastOutput(chat: Chat): Promise<unknown> {
  const last = (await chat.transcript()).findLast(({ entry, rewound }) => entry.role === 'tool' && !rewound)?.entry;
  const [part] = last?.role === 'tool' ? last.content : [];
  return part?.type === 'text' ? (JSON.parse(part.text) as { stdout: string }).stdout : undefined;
}
const said = async (chat: Chat) =>
  (await chat.transcript())
    .filter(({ rewound }) => !rewound)
    .flatMap(({ entry }) => (entry.role === 'user' ? entry.content.map((part) => (part.type === 'text' ? part.text : '')) : []));
const notes = async (chat: Chat) => (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
/** What operators read in the Temporal UI. */
async function detailsOf({ id }: Chat): Promise<string> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    const metadata = await new Client({ connection }).workflow.getHandle(id).query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return metadata.currentDetails;
  } finally {
    await connection.close();
  }
}
const turnsOf = async (chat: Chat) => [...new Set((await chat.transcript()).map(({ turnId }) => turnId))];

test('forks at different places have the history and the files of these, and go on by themselves; nothing runs again', async () => {
  const chat = await start('keeper');
  await chat.reply();
  await say(chat, 'More.');
  await say(chat, 'And more.');
  const [first = '', second = ''] = await turnsOf(chat);
  const [one, two, three] = await Promise.all([chat.fork({ at: first, message: 'Else.' }), chat.fork({ at: second }), chat.fork()]);
  expect(await one.reply()).toBe('Second.');
  expect(await lastOutput(one)).toBe('one\none\n');
  expect(await said(one)).toEqual(['Go.', 'Else.']);
  expect(await say(two, 'Else.')).toBe('Third.');
  expect(await lastOutput(two)).toBe('two\none\ntwo\n');
  expect(await say(three, 'Else.')).toBe('Fourth.');
  expect(await lastOutput(three)).toBe('three\none\ntwo\nthree\n');
  expect(await say(chat, 'At last.')).toBe('Fourth.');
  expect(await lastOutput(chat)).toBe('three\none\ntwo\nthree\n');
  // Both ways.
  const status = await one.status();
  expect(status).toMatchObject({ forkedFrom: { conversationId: chat.id }, turnsUsed: 1 });
  expect(await chat.status()).toMatchObject({ forks: 3 });
  expect((await installation.longshore.list({ forkedFrom: chat.id })).map(({ conversationId }) => conversationId).toSorted()).toEqual(
    [one.id, two.id, three.id].toSorted(),
  );
  await untilEvent(chat, ({ type, data }) => type === 'conversation.forked' && JSON.stringify(data).includes(one.id));
  await untilEvent(one, ({ type, data }) => type === 'conversation.started' && JSON.stringify(data).includes(chat.id));
  await until(async () => {
    const details = await detailsOf(chat);
    return [one, two, three].every(({ id }) => details.includes(`\`${id}\``));
  }, 'the details in the Temporal UI name all forks');
  // The entries of the fork are numbered on.
  const seqs = (await one.transcript()).map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  // A fork of the fork, and going back in it to a checkpoint of the first conversation.
  const fork = await one.fork();
  expect(await say(fork, 'Deeper.')).toBe('Third.');
  expect(await lastOutput(fork)).toBe('two\none\ntwo\n');
  const [inherited] = await fork.checkpoints();
  expect(inherited?.checkpointId).toBe((await chat.checkpoints())[0]?.checkpointId);
  await fork.rewind(inherited?.checkpointId ?? '');
  expect(await said(fork)).toEqual(['Go.']);
  expect(await said(one)).toEqual(['Go.', 'Else.']);
  expect(await say(fork, 'Anew.')).toBe('Second.');
  expect(await lastOutput(fork)).toBe('one\none\n');
}, 180_000);

test('without a checkpoint, a fork has the files of now only when they are those of its place; the model is told when they are not', async () => {
  const chat = await start('plain');
  await chat.reply();
  await say(chat, 'More.');
  const [first = ''] = await turnsOf(chat);
  const refused = await chat.fork({ at: first }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'FORK_FILES_UNKNOWN', values: { places: expect.stringContaining('no checkpoints') as string } });
  const exact = await chat.fork();
  expect(await say(exact, 'Else.')).toBe('Third.');
  expect(await lastOutput(exact)).toBe('two\none\ntwo\n');
  const now = await chat.fork({ at: first, files: 'now' });
  expect(await say(now, 'Else.')).toBe('Second.');
  expect(await lastOutput(now)).toBe('two\none\ntwo\n');
  expect(await notes(now)).toEqual([expect.stringContaining('may differ') as string]);
  const none = await chat.fork({ at: first, files: 'none' });
  expect(await say(none, 'Else.')).toBe('Second.');
  expect(await lastOutput(none)).toBe('');
  expect(await notes(none)).toEqual([expect.stringContaining('It is new') as string]);
}, 180_000);

test('a running conversation is forked at its newest finished step, a closed one and one without a sandbox, too', async () => {
  const chat = await start('sleeper');
  await chat.reply();
  const [first = ''] = await turnsOf(chat);
  const { turnId } = await chat.send('Sleep.');
  await untilEvent(chat, ({ type, turnId: of }) => type === 'tool.started' && of === turnId);
  await expect(chat.fork({ at: turnId })).rejects.toMatchObject({ code: 'FORK_REFUSED' });
  await expect(chat.fork({ at: first })).rejects.toMatchObject({ code: 'FORK_FILES_UNKNOWN' });
  const fork = await chat.fork({ files: 'now' });
  expect(await said(fork)).toEqual(['Go.']);
  await untilEvent(fork, ({ type }) => type === 'fork.ready');
  await chat.close();
  await until(async () => (await chat.status()).state === 'closed', 'it is closed');
  await expect(chat.fork({ at: first })).rejects.toMatchObject({ code: 'FORK_FILES_UNKNOWN', values: { problem: 'it has no sandbox now' } });

  const talker = await start('talker');
  await talker.reply();
  await talker.close();
  await until(async () => (await talker.status()).state === 'closed', 'it is closed');
  const open = await talker.fork();
  expect(await say(open, 'More.')).toBe('Again.');
  expect(await open.status()).toMatchObject({ sandboxTier: 'none' });
}, 180_000);

test('the note of a fork of a place before a command that runs does not mention that command', async () => {
  const chat = await start('waiter');
  await chat.reply();
  const [first = ''] = await turnsOf(chat);
  const { turnId } = await chat.send('Wait.');
  await untilEvent(chat, ({ type, turnId: of }) => type === 'tool.started' && of === turnId);
  const fork = await chat.fork({ at: first, message: 'Wait.' });
  await untilEvent(fork, ({ type }) => type === 'tool.started');
  expect(await notes(fork)).toEqual([
    'This conversation goes on from here as a fork of another one, with a sandbox of its own. Its files are as they were at this moment. ' +
      'Programs that ran in the earlier sandbox do not run in it, and the variables of its code contexts are gone.',
  ]);
}, 180_000);

test('a rewound conversation is forked as it is, and where it went back beyond', async () => {
  const chat = await start('keeper');
  await chat.reply();
  await say(chat, 'More.');
  const [, second = ''] = await turnsOf(chat);
  const [checkpoint] = await chat.checkpoints();
  await chat.rewind(checkpoint?.checkpointId ?? '');
  const asItIs = await chat.fork();
  const asItWas = await chat.fork({ at: second });
  expect(await said(asItIs)).toEqual(['Go.']);
  expect(await said(asItWas)).toEqual(['Go.', 'More.']);
  expect(await say(asItIs, 'Else.')).toBe('Second.');
  expect(await lastOutput(asItIs)).toBe('one\none\n');
  expect(await say(asItWas, 'Else.')).toBe('Third.');
  expect(await lastOutput(asItWas)).toBe('two\none\ntwo\n');
}, 180_000);

test('a fork at a step within a turn has the files of that step', async () => {
  const chat = await start('stepper');
  await chat.reply();
  const steps = (await chat.transcript()).flatMap(({ entry, stepId = '' }) => (entry.role === 'assistant' ? [stepId] : []));
  const [fork, last] = await Promise.all([chat.fork({ at: steps[0] ?? '', message: 'Else.' }), chat.fork({ at: steps[1] ?? '', message: 'Else.' })]);
  expect(await fork.reply()).toBe('Done.');
  expect(await lastOutput(fork)).toBe('one\none\n');
  expect(await last.reply()).toBe('Done.');
  expect(await lastOutput(last)).toBe('one\none\n');
}, 180_000);

test('the history of a fork is in 1,000 conversations at most', async () => {
  const chat = await start('talker');
  await chat.reply();
  const fork = await chat.fork({ message: 'On.' });
  await fork.reply();
  const client = new PgClient({ connectionString: installation.environment['DATABASE_URL'] });
  await client.connect();
  // As if that many forks had been made one of the other. No entry is in these parts.
  const add = (from: number, to: number) =>
    client.query(
      'insert into transcript_parts (conversation_id, after_seq, to_seq, source_id) select $1, 0, -number, $2 from generate_series($3::int, $4::int) number',
      [fork.id, chat.id, from, to],
    );
  await add(1, 998);
  const last = await fork.fork();
  expect(await say(last, 'Deeper.')).toBe('And again.');
  await add(999, 999);
  await client.end();
  const refusal =
    'the history up to there is in more than 1000 conversations, each a fork of the one before. Fork at an earlier place, or start a new conversation';
  await expect(fork.fork()).rejects.toMatchObject({ code: 'FORK_REFUSED', message: expect.stringContaining(refusal) as string });
  await expect(last.fork()).rejects.toMatchObject({ code: 'FORK_REFUSED' });
}, 180_000);

test('the same over HTTP and on the command line; a second fork with an id is the first one', async () => {
  const chat = await start('keeper');
  await chat.reply();
  const [checkpoint] = await chat.checkpoints();
  const { authorization } = await service.key(['admin']);
  await using remote = await connect({ url: service.url, apiKey: authorization.slice('Bearer '.length) });
  const id = `${chat.id}-fork`;
  const made = await remote.fork(chat.id, { at: checkpoint?.checkpointId ?? '', conversationId: id, message: 'Else.' });
  expect(made.id).toBe(id);
  expect(await made.reply()).toBe('Second.');
  expect(await lastOutput(made)).toBe('one\none\n');
  expect((await chat.fork({ conversationId: id })).id).toBe(id);
  expect((await remote.list({ forkedFrom: chat.id })).length).toBe(1);
  const other = await start('talker');
  await expect(other.fork({ conversationId: id })).rejects.toMatchObject({ code: 'CONVERSATION_EXISTS' });
  await expect(remote.fork(chat.id, { at: 'turn_none' })).rejects.toMatchObject({ code: 'FORK_REFUSED' });
  await expect(remote.fork('conv_none')).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  // A page of messages has those of before, too, in pieces of any size.
  const pages: { role: string; parts: { type: string; state?: string; text?: string; output?: string }[] }[][] = [];
  for (let before = ''; ;) {
    const page = await fetch(`${service.url}/v1/conversations/${id}/transcript?format=ui&limit=1${before}`, { headers: { authorization } });
    const { messages, next } = (await page.json()) as { messages: (typeof pages)[number]; next?: number };
    pages.unshift(messages);
    if (next === undefined) break;
    before = `&before=${next}`;
  }
  const messages = pages.flat();
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(messages[1]?.parts).toContainEqual(expect.objectContaining({ type: 'dynamic-tool', state: 'output-available' }));
  expect(messages[1]?.parts).toContainEqual(expect.objectContaining({ type: 'text', text: 'First.' }));
  const line = await runLine(installation.longshore, ['fork', chat.id]);
  expect(line).toMatchObject({ code: 0, err: '' });
  const shown = await runLine(installation.longshore, ['show', line.out.split('\n')[0] ?? '']);
  expect(shown.out).toContain(`fork of ${chat.id}`);
  const listed = await runLine(installation.longshore, ['ls', '--forks-of', chat.id]);
  expect(listed.out).toContain(id);
}, 180_000);
