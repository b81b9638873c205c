import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { createStartScheduled } from '../../src/activities/start-scheduled.ts';
import { connect, defineAgent } from '../../src/client.ts';
import { startConversation } from '../../src/client/start-conversation.ts';
import { createTemporalLink } from '../../src/client/temporal/temporal.ts';
import { readEncryptionKeys } from '../../src/platform/encryption-keys.ts';
import { loadConfig } from '../../src/platform/config.ts';
import type { Agent } from '../../src/contracts/agent.ts';
import { runLine } from '../cli/support.ts';
import { installAgents, until, untilEvent, type Installation } from './support.ts';

const desk = fileURLToPath(new URL('../fixtures/plugins/desk', import.meta.url));
let installation: Installation;
let connection: Connection;
let temporal: Client;

beforeAll(async () => {
  installation = await installAgents({
    greeter: { steps: [{ say: 'Hello.' }, { say: 'Hello again.' }] },
    watchman: {
      plugins: [desk],
      tools: ['desk:*'],
      steps: [
        { call: 'desk:look', with: {} },
        { call: 'desk:remind', with: { text: 'x' }, expect: { isError: true, text: '/^Unknown tool "desk:remind". Available: desk:look/' } },
        { say: 'All quiet.' },
      ],
    },
  });
  connection = await Connection.connect({ address: loadConfig().TEMPORAL_ADDRESS });
  temporal = new Client({ connection });
});
afterAll(async () => {
  for (const { id } of await installation.longshore.schedules.list()) await installation.longshore.schedules.delete(id);
  await connection.close();
  await installation[Symbol.asyncDispose]();
});

const schedules = () => installation.longshore.schedules;
const idOf = (name: string) => `${name}-${installation.name}`;
const hourly = (name: string, agent = 'greeter') => ({ id: idOf(name), agent, user: 'user-1', message: 'Begin.', every: '1h' });
const runsOf = async (id: string) => (await schedules().get(id)).runs;
/** Runs what was due in an hour that is over. */
async function makeUp(id: string, hour: string): Promise<void> {
  await temporal.schedule.getHandle(id).backfill({ start: new Date(`${hour}:00:00Z`), end: new Date(`${hour}:00:00Z`), overlap: 'ALLOW_ALL' });
}

// The first test: no worker runs yet.
test('a run that was due while no worker ran is not lost: its conversation starts with the next worker (unlike a scheduler in process)', async () => {
  const { id } = await schedules().create(hourly('away'));
  await makeUp(id, '2026-01-01T06');
  await until(async () => (await runsOf(id)).length === 1, 'the run is due');
  const at = '2026-01-01T06:00:00.000Z';
  const conversationId = `conv_${id}-20260101T060000Z`;
  expect(await runsOf(id)).toEqual([{ at, conversationId, outcome: 'waiting' }]);
  await expect(installation.longshore.chat(conversationId)).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  await installation.startWorker().ready;
  await until(async () => (await runsOf(id))[0]?.outcome === 'started', 'the conversation has started');
  expect(await installation.longshore.reply(conversationId)).toBe('Hello.');
});

test('a conversation tells which schedule it comes from: in its status, its first event, the command line and the Temporal UI', async () => {
  const { id } = await schedules().create({ ...hourly('origin'), tenant: 'acme', keepOpen: true });
  const run = await schedules().trigger(id);
  expect(run).toMatchObject({ outcome: 'started', conversationId: expect.stringContaining(`conv_${id}-`) as string });
  const chat = await installation.longshore.chat(run.conversationId);
  expect(await chat.reply()).toBe('Hello.');
  const scheduledBy = { scheduleId: id, at: run.at };
  expect(await chat.status()).toMatchObject({ scheduledBy, unattended: true, agentId: 'greeter', userId: 'user-1', tenantId: 'acme' });
  const [started] = await installation.store.events.read(chat.id, 0);
  expect(started).toMatchObject({ type: 'conversation.started', data: { agentId: 'greeter', userId: 'user-1', tenantId: 'acme', scheduledBy } });
  expect((await runLine(installation.longshore, ['show', chat.id])).out).toContain(`\nstarted by schedule ${id} for ${run.at}\n`);
  expect((await runLine(installation.longshore, ['ls', '--tenant', 'acme'])).out).toMatch(new RegExp(`^CONVERSATION .* SCHEDULE\\n${chat.id} .* ${id}\\n$`));
  const described = await temporal.workflow.getHandle(chat.id).describe();
  expect(await described.staticSummary()).toBe(`greeter for user-1, by schedule ${id} of ${run.at}`);
  expect(described.searchAttributes).toMatchObject({ TemporalScheduledById: [id], TemporalScheduledStartTime: [new Date(run.at)] });
  await until(async () => (await chat.status()).state === 'idle', 'it waits for more');
  expect(await runsOf(id)).toEqual([{ ...run, state: 'idle', lastTurn: { outcome: 'finished' } }]);
  expect((await runLine(installation.longshore, ['schedule', 'show', id])).out).toContain(`\nlast runs:\n  ${run.at}  ${chat.id} idle, answered\n`);

  await schedules().delete(id);
  await expect(schedules().get(id)).rejects.toMatchObject({ message: `No schedule "${id}". List them with: longshore schedule ls` });
  const { turnId } = await chat.send('And now?');
  expect(await chat.reply(turnId)).toBe('Hello again.');
  await chat.close();
});

test('a conversation of a schedule sees only tools that read and need no approval, and closes when it has answered', async () => {
  const { id } = await schedules().create(hourly('watch', 'watchman'));
  const { conversationId } = await schedules().trigger(id);
  const chat = await installation.longshore.chat(conversationId);
  expect(await chat.reply()).toBe('All quiet.');
  await untilEvent(chat, ({ type }) => type === 'conversation.closed');
  expect(await chat.status()).toMatchObject({ state: 'closed', unattended: true, turnsUsed: 1, pendingApprovals: [] });
  const requested = (await installation.store.events.read(chat.id, 0)).flatMap((event) => (event.type === 'tool.requested' ? [event.data.decision] : []));
  expect(requested).toEqual(['allow', 'invalid']);
});

test('a run that is tried again, at the same moment or when its conversation is over, starts no second conversation', async () => {
  const { store } = installation;
  await using link = linkToTemporal();
  const parts = { store, temporal: link, taskQueue: installation.name, agents: { directory: 'none', load: async () => agents() } };
  const startScheduled = createStartScheduled({ startConversation: (options) => startConversation(parts, options) });
  const scheduledBy = { scheduleId: idOf('twice'), at: '2026-01-01T06:00:00.000Z' };
  const run = () => startScheduled({ agent: 'greeter', user: 'user-1', tenant: 'default', message: 'Begin.', keepOpen: false, scheduledBy });
  const [{ conversationId }, second] = await Promise.all([run(), run()]);
  expect(second).toEqual({ conversationId });
  const chat = await installation.longshore.chat(conversationId);
  await untilEvent(chat, ({ type }) => type === 'conversation.closed');
  expect(await run()).toEqual({ conversationId });
  expect((await chat.transcript()).map(({ entry }) => entry.role)).toEqual(['user', 'assistant']);

  const { id } = await schedules().create(hourly('again'));
  for (const times of [1, 2]) {
    await makeUp(id, '2026-01-01T06');
    await until(async () => (await runsOf(id)).filter(({ outcome }) => outcome === 'started').length === times, `run ${times}`);
  }
  const [first] = await runsOf(id);
  expect(new Set((await runsOf(id)).map((run) => run.conversationId))).toEqual(new Set([first?.conversationId]));
  expect((await installation.longshore.transcript(first?.conversationId ?? '')).filter(({ entry }) => entry.role === 'user')).toHaveLength(1);
});

test('a run that cannot start its conversation says why, and goes wrong alone', async () => {
  const ghost = defineAgent({ id: 'ghost', model: 'scripted/none.yaml' });
  await using longshore = await connect({ databaseUrl: installation.environment['DATABASE_URL'] ?? '', taskQueue: installation.name, agents: [ghost] });
  const { id } = await longshore.schedules.create(hourly('ghost', 'ghost'));
  const directory = installation.environment['LONGSHORE_AGENTS'] ?? '';
  const problem = `No agent named "ghost". Known: greeter, watchman. Put ghost.yaml into ${directory} and restart the workers, set LONGSHORE_AGENTS to where it is, or name one that exists.`;
  expect(await longshore.schedules.trigger(id)).toMatchObject({ outcome: 'failed', problem });
  expect(await runLine(longshore, ['schedule', 'run', id])).toEqual({ code: 1, out: '', err: `The run failed: ${problem}\n` });
  expect((await schedules().get(id)).runs).toMatchObject([
    { outcome: 'failed', problem },
    { outcome: 'failed', problem },
  ]);
});

test('a paused schedule tells why, runs only when it is asked to, and goes on with its next time', async () => {
  const { id, nextAt } = await schedules().create(hourly('rest'));
  await schedules().pause(id, { note: 'holidays' });
  expect(await schedules().get(id)).toMatchObject({ paused: true, note: 'holidays' });
  expect(await schedules().trigger(id)).toMatchObject({ outcome: 'started' });
  await schedules().resume(id);
  const { note, paused, nextAt: later } = await schedules().get(id);
  expect({ note, paused }).toEqual({ note: undefined, paused: false });
  expect(later.at(-1)).toBe(nextAt.at(-1));
});

function linkToTemporal() {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = loadConfig();
  const link = createTemporalLink({ address, namespace, keys: readEncryptionKeys(undefined) });
  return { ...link, [Symbol.asyncDispose]: () => link.close() };
}

function agents(): Map<string, Agent> {
  return new Map([['greeter', defineAgent({ id: 'greeter', model: 'scripted/scripts/greeter.yaml' })]]);
}
