import type { Chat, ConversationStatus } from '../../../src/client.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { installAgents, until, untilEvent, type Installation } from '../support.ts';
import { lastOutput, say } from './talk.ts';

/** A fork of a source at rest has its files, and the source is left as it was. */
type Tier = ConversationStatus['sandboxTier'];

const writes = (text: string) => ({ call: 'shell:run', with: { command: `cat notes 2>/dev/null; echo ${text} > notes` } });
const steps = [writes('one'), { say: 'One.' }, writes('two'), { say: 'Two.' }, writes('three'), { say: 'Three.' }];
const noted = (path: string) => [{ call: 'memory:write', with: { path: `${path}.md`, content: 'Noted.' } }, { say: `Noted ${path}.` }];
const count = { call: 'shell:run', with: { command: 'echo $$ > pid; for ((i = 0; ; i += 1)); do echo $i > count; sleep 0.05; done', background: true } };
// It counts on.
const look = {
  call: 'shell:run',
  with: { command: 'until [ -s count ]; do sleep 0.05; done; a=$(cat count); until [ "$(cat count)" != "$a" ]; do sleep 0.05; done; echo on' },
};
const idle = {
  frozen: { freeze: '200ms' },
  hibernated: { freeze: '200ms', hibernate: '400ms' },
  stopped: { freeze: '200ms', stop: '400ms' },
  archived: { freeze: '200ms', stop: '400ms', archive: '600ms' },
};
const hasGvisor = process.env['LONGSHORE_TEST_GVISOR'] === 'yes';
/** What the engine says of its container. */
const CONTAINERS = { frozen: 'paused', hibernated: 'exited', stopped: 'exited', archived: 'none' };
const TIERS = (Object.keys(idle) as (keyof typeof idle)[]).filter((tier) => hasGvisor || tier !== 'hibernated');

let installation: Installation;
beforeAll(async () => {
  const resting = TIERS.map((tier) => [tier, { checkpoints: 'turn', sandbox: { idle: idle[tier] }, steps }] as const);
  installation = await installAgents({
    ...Object.fromEntries(resting),
    noter: { memory: 'user', steps: [...noted('a'), ...noted('b'), writes('one'), { say: 'Wrote.' }] },
    // Its fork counts the answers that it reads.
    plain: { steps },
    counting: { sandbox: { idle: { freeze: '200ms' } }, steps: [count, { say: 'Counting.' }, look, { say: 'Looked.' }] },
  });
  installation.environment['LONGSHORE_COPY_CHECKPOINTS'] = 'yes';
  await installation.startWorker().ready;
}, 180_000);
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
}, 180_000);

const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Go.' });
const notes = async (chat: Chat) => (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
const turnsOf = async (chat: Chat) => [...new Set((await chat.transcript()).map(({ turnId }) => turnId))];
const isReady = (fork: Chat) => untilEvent(fork, ({ type }) => type === 'fork.ready');
const untilTier = (chat: Chat, tier: Tier) => until(async () => (await chat.status()).sandboxTier === tier, `it is ${tier}`);

/** What tells whether anything has touched the sandbox: its row, its container, and what its log says of it. */
async function stateOf(chat: Chat) {
  const found = await installation.store.sandboxes.ofConversation(chat.id);
  // It grows older.
  const row = { ...found, idleMs: undefined };
  const format = ['inspect', '--format', '{{.Id}} {{.State.Status}} {{.State.StartedAt}}', found?.containerName ?? ''];
  const { code, stdout } = await runCommand('docker', format);
  const container = code === 0 ? stdout : 'none';
  const events = (await installation.store.events.read(chat.id, 0)).filter(({ type }) => type === 'sandbox.changed');
  return { row, container, changes: events.length };
}

test.each(TIERS)(
  'a %s source gives forks with its files of now and of earlier, is not changed by that, and goes on',
  async (tier) => {
    const chat = await start(tier);
    expect(await chat.reply()).toBe('One.');
    expect(await say(chat)).toBe('Two.');
    await untilTier(chat, tier);
    // The row says so first, and keeps memory until the processes have ended.
    const isAtRest = ({ row, container }: Awaited<ReturnType<typeof stateOf>>) => container.includes(CONTAINERS[tier]) && row.promised === undefined;
    await until(async () => isAtRest(await stateOf(chat)), 'its container rests');
    const before = await stateOf(chat);
    const [first = ''] = await turnsOf(chat);
    const forks = await Promise.all([chat.fork(), chat.fork({ at: first }), chat.fork({ files: 'now', at: first })]);
    await Promise.all(forks.map(isReady));
    expect(await stateOf(chat)).toEqual(before);

    const [newest, earlier, now] = forks;
    expect(await say(newest)).toBe('Three.');
    expect(await lastOutput(newest)).toBe('two\n');
    expect(await say(earlier)).toBe('Two.');
    expect(await lastOutput(earlier)).toBe('one\n');
    expect(await say(now)).toBe('Two.');
    expect(await lastOutput(now)).toBe('two\n');
    expect(await say(chat)).toBe('Three.');
    expect(await lastOutput(chat)).toBe('two\n');
    await Promise.all([chat, ...forks].map((one) => one.close()));
  },
  180_000,
);

test('a source that never had a sandbox gives forks without one, whatever tools it has used; they get one with their first command', async () => {
  const chat = await start('noter');
  expect(await chat.reply()).toBe('Noted a.');
  expect(await say(chat)).toBe('Noted b.');
  const [first = ''] = await turnsOf(chat);
  const forks = await Promise.all([chat.fork(), chat.fork({ at: first }), chat.fork({ files: 'now' }), chat.fork({ files: 'none' })]);
  await Promise.all(forks.map(isReady));
  for (const fork of forks) expect((await fork.status()).sandboxTier).toBe('none');
  const [newest, earlier] = forks;
  expect(await notes(newest)).toEqual([]);
  expect(await say(earlier)).toBe('Noted b.');
  // A fork of a fork that has none.
  const deeper = await newest.fork();
  expect(await say(deeper)).toBe('Wrote.');
  expect(await lastOutput(deeper)).toBe('');
  expect((await chat.status()).sandboxTier).toBe('none');
  // Now there is one, and it is not that of the earlier moment.
  await expect(deeper.fork({ at: first })).rejects.toMatchObject({ code: 'FORK_FILES_UNKNOWN' });
}, 180_000);

test('a fork that began without the files of its history gives them to no fork of its own', async () => {
  const chat = await start('plain');
  await chat.reply();
  expect(await say(chat)).toBe('Two.');
  const [first = '', second = ''] = await turnsOf(chat);
  const [lastStep = ''] = (await chat.transcript()).flatMap(({ turnId, stepId }) => (turnId === second && stepId !== undefined ? [stepId] : [])).slice(-1);
  const bare = await chat.fork({ files: 'none' });
  await isReady(bare);
  await expect(bare.fork({ at: first })).rejects.toMatchObject({ code: 'FORK_FILES_UNKNOWN', values: { problem: 'it has no sandbox now' } });
  await expect(bare.fork({ at: lastStep })).rejects.toMatchObject({ code: 'FORK_FILES_UNKNOWN', values: { problem: 'it has no sandbox now' } });
  // Its own beginning says that the sandbox is new.
  const next = await bare.fork();
  expect(await say(next)).toBe('Three.');
  expect(await lastOutput(next)).toBe('');
  expect(await notes(next)).toEqual([expect.stringContaining('It is new') as string]);
  // The same when it has a sandbox by now.
  expect(await say(bare)).toBe('Three.');
  await expect(bare.fork({ at: lastStep })).rejects.toMatchObject({ code: 'FORK_FILES_UNKNOWN' });
}, 180_000);

(hasGvisor ? test : test.skip)(
  'with gVisor, what runs in the sandbox of the source runs on in the fork, and in the source',
  async () => {
    const chat = await start('counting');
    expect(await chat.reply()).toBe('Counting.');
    await untilTier(chat, 'frozen');
    const fork = await chat.fork();
    await untilEvent(fork, ({ type, data }) => type === 'fork.ready' && data['processes']);
    expect(await notes(fork)).toEqual([]);
    expect((await chat.status()).sandboxTier).toBe('frozen');
    for (const one of [fork, chat]) {
      expect(await say(one)).toBe('Looked.');
      expect(await lastOutput(one)).toBe('on\n');
      expect(await notes(one)).toEqual([]);
    }
  },
  180_000,
);
