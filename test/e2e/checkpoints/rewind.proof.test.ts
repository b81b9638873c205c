import type { Chat } from '../../../src/client.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, until, untilEvent, type Installation } from '../support.ts';

/** Checkpoints of conversations, and going back to them, from the agent's file to the client, the HTTP API and the command line. */
let installation: Installation;
let service: TestApi;

const writes = (text: string) => ({ call: 'shell:run', with: { command: `echo ${text} > notes && echo ${text} >> log` } });
const readsAndWrites = (text: string) => ({ call: 'shell:run', with: { command: `cat notes log; echo ${text} > notes && echo ${text} >> log` } });

beforeAll(async () => {
  installation = await installAgents({
    // A scripted model counts the answers that it reads: after a rewind it goes on from there.
    keeper: {
      checkpoints: 'turn',
      steps: [
        writes('one'),
        { say: 'First.' },
        readsAndWrites('two'),
        { say: 'Second.' },
        { say: 'Nothing done.' },
        readsAndWrites('three'),
        { say: 'Third.' },
      ],
    },
    sleeper: {
      checkpoints: 'turn',
      steps: [writes('one'), { say: 'First.' }, { call: 'shell:run', with: { command: 'echo two > notes; sleep 600' } }, { say: 'Late.' }],
    },
    stepper: { checkpoints: 'step', steps: [writes('one'), writes('two'), { say: 'Done.' }] },
    plain: { steps: [writes('one'), { say: 'Done.' }] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
}, 180_000);
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
}, 180_000);

async function say(chat: Chat, text: string): Promise<string> {
  const { turnId } = await chat.send(text);
  return chat.reply(turnId);
}
const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Go.' });

/** What the last command of the conversation printed. */
async function lastOutput(chat: Chat): Promise<unknown> {
  const last = (await chat.transcript()).findLast(({ entry, rewound }) => entry.role === 'tool' && !rewound)?.entry;
  const [part] = last?.role === 'tool' ? last.content : [];
  return part?.type === 'text' ? (JSON.parse(part.text) as { stdout: string }).stdout : undefined;
}
const said = async (chat: Chat, { all = false } = {}) =>
  (await chat.transcript())
    .filter(({ rewound }) => all || !rewound)
    .flatMap(({ entry }) => (entry.role === 'user' ? entry.content.map((part) => (part.type === 'text' ? part.text : '')) : []));

test('a turn that changed files has a checkpoint; going back restores files and transcript, and can be taken back', async () => {
  const chat = await start('keeper');
  await chat.reply();
  await say(chat, 'More.');
  await say(chat, 'Nothing.');
  const [first, second, ...others] = await chat.checkpoints();
  expect(others).toEqual([]);
  expect(first).toMatchObject({ leftOut: 0 });
  expect(second).toMatchObject({ changed: 2, files: first?.files });
  expect(second?.transcriptSeq).toBeGreaterThan(first?.transcriptSeq ?? Infinity);
  const rewound = await chat.rewind(first?.checkpointId ?? '');
  expect(rewound).toMatchObject({ checkpointId: first?.checkpointId, failed: 0 });
  expect(await said(chat)).toEqual(['Go.']);
  expect(await said(chat, { all: true })).toEqual(['Go.', 'More.', 'Nothing.']);
  await say(chat, 'Differently.');
  expect(await lastOutput(chat)).toBe('one\none\n');
  await chat.rewind(rewound.before);
  expect(await said(chat)).toEqual(['Go.', 'More.', 'Nothing.']);
  expect(await said(chat, { all: true })).toEqual(['Go.', 'More.', 'Nothing.', 'Differently.']);
  await say(chat, 'Again.');
  expect(await lastOutput(chat)).toBe('two\none\ntwo\n');
}, 120_000);

test('with step, each step that changed files has one; without the key, none is made', async () => {
  const stepper = await start('stepper');
  await stepper.reply();
  const made = await stepper.checkpoints();
  expect(made.map(({ stepId }) => typeof stepId)).toEqual(['string', 'string']);
  const plain = await start('plain');
  await plain.reply();
  expect(await plain.checkpoints()).toEqual([]);
}, 120_000);

test('an unknown checkpoint is refused, over HTTP and on the command line, too', async () => {
  const chat = await start('keeper');
  await chat.reply();
  await expect(chat.rewind('cp_9_none')).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
  await using remote = await service.connect(['admin']);
  const listed = await remote.checkpoints(chat.id);
  expect(listed).toEqual(await chat.checkpoints());
  await expect(remote.rewind(chat.id, 'cp_9_none')).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
  expect(await remote.rewind(chat.id, listed[0]?.checkpointId ?? '')).toMatchObject({ failed: 0 });
  const shown = await runLine(installation.longshore, ['checkpoints', chat.id]);
  expect(shown.out).toContain(listed[0]?.checkpointId);
}, 120_000);

test('what reached beyond the sandbox is listed first, and stays when that is confirmed', async () => {
  const chat = await start('keeper');
  await chat.reply();
  const [first] = await chat.checkpoints();
  const checkpointId = first?.checkpointId ?? '';
  await installation.store.events.append(chat.id, [
    { type: 'tool.started', data: { callId: 'call_1', tool: 'mail:send' } },
    { type: 'tool.started', data: { callId: 'call_2', tool: 'files:write' } },
    {
      type: 'sandbox.egress',
      data: {
        decisions: [
          { host: 'api.example.com', decision: 'allowed', connections: 2, sentBytes: 1, receivedBytes: 1 },
          { host: 'no.example.com', decision: 'refused', connections: 1, sentBytes: 0, receivedBytes: 0 },
        ],
      },
    },
  ]);
  const refused = await chat.rewind(checkpointId).then(
    () => undefined,
    (error: { code: string; values: { effects: string; confirm: string } }) => error,
  );
  expect(refused).toMatchObject({
    code: 'REWIND_UNCONFIRMED',
    values: { effects: 'mail:send ran once; the sandbox was connected to api.example.com 2 times' },
  });
  await expect(chat.rewind(checkpointId, { confirm: 'another' })).rejects.toMatchObject({ code: 'REWIND_UNCONFIRMED' });
  const declined = await runLine(installation.longshore, ['rewind', chat.id, checkpointId]);
  expect(declined).toMatchObject({ code: 2, out: expect.stringContaining('mail:send ran once') as string });
  expect(await chat.rewind(checkpointId, { confirm: refused?.values.confirm ?? '' })).toMatchObject({ failed: 0 });
  const confirmed = await runLine(installation.longshore, ['rewind', chat.id, checkpointId, '--yes']);
  expect(confirmed).toMatchObject({ code: 0, err: '' });
}, 120_000);

test('while a turn runs it is refused, and after an interruption it is not', async () => {
  const chat = await start('sleeper');
  await chat.reply();
  const [first] = await chat.checkpoints();
  await chat.send('Sleep.');
  await untilEvent(chat, ({ type, data }) => type === 'tool.requested' && JSON.stringify(data).includes('sleep 600'));
  await expect(chat.rewind(first?.checkpointId ?? '')).rejects.toMatchObject({ code: 'REWIND_REFUSED' });
  await chat.interrupt();
  await untilEvent(chat, ({ type, data }) => type === 'turn.finished' && JSON.stringify(data).includes('interrupted'));
  await until(async () => (await chat.status()).state === 'idle', 'it is idle');
  await chat.rewind(first?.checkpointId ?? '');
  expect(await said(chat)).toEqual(['Go.']);
}, 120_000);
