import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createCallModel } from '../../src/activities/call-model.ts';
import { createCompactContext, createRestoreContext } from '../../src/activities/compact-context.ts';
import type { CallModelArgs } from '../../src/contracts/activities.ts';
import type { CompactContextArgs, CompactContextResult, RestoreContextArgs } from '../../src/contracts/transcript.ts';
import type { ConversationStatus } from '../../src/contracts/conversation.ts';
import { failure } from '../../src/contracts/errors.ts';
import type { Model, ModelRequest } from '../../src/models/model.ts';
import { shownEntries } from '../../src/models/context/shown-entries.ts';
import { createContextPlugin } from '../../src/plugins/builtin/context.ts';
import { createRegistry } from '../../src/plugins/registry/registry.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { makeAgent, silentLog } from '../models/support.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';

let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  database = await createTestDatabase();
  store = await openStore({ url: database.url, log: silentLog });
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const agent = { ...makeAgent('scripted/none.yaml'), tools: [], context: { window: 10_000, compactAt: 0.8, keepTurns: 1 } };
const USAGE = { inputTokens: 1_000, outputTokens: 50, costUsd: 0.5 };
const SUMMARY = '## Goal\nCount the ships.\n## Constraints\n- "never count boats"\n## Open work\n- The harbour.';

let count = 0;
/** A conversation of one turn, with so many steps of one call each, whose results have so many characters. */
async function begin(steps: number, characters: number): Promise<CallModelArgs> {
  const conversationId = `conv_${++count}`;
  const counts = { queued: 0, turnsUsed: 0, stepsUsed: 0, tokensUsed: 0, workedMs: 0 };
  const owner = { conversationId, agentId: agent.id, userId: 'u', tenantId: 't', state: 'running' as const };
  const status: ConversationStatus = { ...owner, ...counts, sandboxTier: 'none', pendingApprovals: [], runningCalls: [] };
  await store.conversations.create({ ...owner, status });
  await store.transcript.append(conversationId, 'turn_1', undefined, 'msg_1', {
    role: 'user',
    content: [{ type: 'text', text: 'Count the ships, but never count boats.' }],
  });
  for (let step = 0; step < steps; step += 1) {
    const callId = `call_${step}`;
    const parts = [{ type: 'tool-call' as const, callId, tool: 'shell:run', arguments: { command: `count ${step}` } }];
    await store.transcript.append(conversationId, 'turn_1', `step_${step}`, `step_${step}`, { role: 'assistant', parts });
    const content = [{ type: 'text' as const, text: `${step} `.padEnd(characters, 'x') }];
    await store.transcript.append(conversationId, 'turn_1', `step_${step}`, callId, { role: 'tool', callId, tool: 'shell:run', content, isError: false });
  }
  return { conversationId, agentId: agent.id, turnId: 'turn_1', stepId: `step_${steps}`, step: steps, userId: 'u', tenantId: 't', compactions: 0 };
}

function answering(...answers: (string | Error)[]): Model & { asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    asked,
    async answer(request) {
      asked.push(request);
      const text = answers.shift() ?? 'Done.';
      if (typeof text !== 'string') throw text;
      return { parts: [{ type: 'text', text }], usage: USAGE };
    },
  };
}

function partsFor(model: Model) {
  const registry = createRegistry([createContextPlugin((conversationId) => store.transcript.read(conversationId))]);
  const agents = new Map([[agent.id, agent]]);
  return { store, registry, agents, models: { get: () => model, isPriced: () => true }, log: silentLog, opened: { ifAwake: async () => undefined } };
}
const environment = (attempt = 1) => new MockActivityEnvironment({ attempt }, { logger: new DefaultLogger('ERROR') });

function compact(model: Model, { conversationId, ...args }: CallModelArgs, more: Partial<CompactContextArgs> = {}, attempt = 1): Promise<CompactContextResult> {
  const { agentId, userId, tenantId, turnId } = args;
  const given = { compactionId: 'cmp_1', conversationId, agentId, userId, tenantId, turnId, reason: 'full' as const, before: 0, ...more };
  const activity = createCompactContext(partsFor(model));
  return environment(attempt).run<[CompactContextArgs], CompactContextResult, typeof activity>(activity, given);
}
const callModel = (model: Model, args: CallModelArgs) => environment().run(createCallModel(partsFor(model)), args);
const eventsOf = async ({ conversationId }: CallModelArgs) =>
  (await store.events.read(conversationId, 0)).filter(({ type }) => type !== 'conversation.started');
const usageOf = ({ conversationId }: CallModelArgs) => store.usage.total({ from: '2020-01-01', to: '2100-01-01', conversationId });

test('a prompt that fills its part of the window is not sent; without old results it is, and offers the tool that reads them', async () => {
  const args = await begin(14, 2_000);
  const model = answering('Done.');
  expect(await callModel(model, args)).toEqual({ outcome: 'compact', reason: 'full' });
  expect(model.asked).toHaveLength(0);
  expect(await compact(model, args)).toEqual({ changed: true });
  expect(await callModel(model, { ...args, compactions: 1 })).toMatchObject({ outcome: 'answered' });
  const [request] = model.asked;
  expect(request?.tools).toMatchObject([{ tool: 'context:recall', name: 'context__recall' }]);
  const results = request?.shown?.flatMap(({ entry }) => (entry.role === 'tool' ? entry.content : [])) ?? [];
  expect(results[0]).toEqual({
    type: 'text',
    text: '[Left out to save room: the result of this call (2000 characters). Read it with context__recall and {"entry": 3}.]',
  });
  expect(results.at(-1)).toMatchObject({ text: expect.stringMatching(/^13 x+$/) });
  const [event] = await eventsOf(args);
  expect(event).toMatchObject({ type: 'context.compacted', turnId: 'turn_1', data: { compactionId: 'cmp_1', reason: 'full', stage: 'outputs' } });
  const [compaction] = await store.compactions.list(args.conversationId);
  expect(compaction?.tokensBefore).toBeGreaterThan(8_000);
  expect(compaction?.tokensAfter).toBeLessThan(4_000);
});

test('when results are not enough, a model sums up; that counts in the usage, and a repeated attempt asks no model', async () => {
  const args = await begin(60, 400);
  const model = answering(SUMMARY);
  const first = await compact(model, args);
  expect(first).toEqual({ changed: true, usage: USAGE });
  expect(await compact(model, args, {}, 2)).toEqual(first);
  expect(model.asked).toHaveLength(1);
  expect(model.asked[0]).toMatchObject({ sumsUp: true, tools: [] });
  expect(await usageOf(args)).toMatchObject({ calls: 1, inputTokens: 1_000, outputTokens: 50, costUsd: 0.5 });
  const events = await eventsOf(args);
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({ data: { stage: 'summary', summary: expect.stringContaining('- (entry 1) "never count boats"') } });
  const [transcript, compactions] = await Promise.all([store.transcript.read(args.conversationId), store.compactions.list(args.conversationId)]);
  const shown = shownEntries(transcript, compactions, 'context__recall');
  expect(shown[0]?.entry).toMatchObject({ role: 'user', content: [{ text: 'Count the ships, but never count boats.' }] });
  expect(shown[1]?.entry).toMatchObject({ role: 'note', text: expect.stringContaining('## Goal\nCount the ships.') });
  expect(shown.length).toBeLessThan(40);
  expect(transcript).toHaveLength(121);
});

test('of two attempts at the same time, what the stored one used counts, for both', async () => {
  const args = await begin(60, 400);
  const slow: Model = {
    async answer() {
      await compact(answering(SUMMARY), args, {}, 2);
      return { parts: [{ type: 'text', text: SUMMARY }], usage: { ...USAGE, inputTokens: 9_000 } };
    },
  };
  expect(await compact(slow, args)).toEqual({ changed: true, usage: USAGE });
  expect(await usageOf(args)).toMatchObject({ calls: 1, inputTokens: USAGE.inputTokens });
});

test('a summary says the plan that the agent has then', async () => {
  const args = await begin(60, 400);
  await store.plans.write({ ...args, callId: 'call_1' }, [{ text: 'Count the east pier', status: 'done' }]);
  await store.plans.write({ ...args, callId: 'call_2' }, [{ text: 'Count the west pier', status: 'in_progress' }]);
  await compact(answering(SUMMARY), args);
  const [transcript, compactions] = await Promise.all([store.transcript.read(args.conversationId), store.compactions.list(args.conversationId)]);
  const note = shownEntries(transcript, compactions, 'context__recall')[1]?.entry;
  expect(note).toMatchObject({ role: 'note', text: expect.stringMatching(/## Your plan at that time; .*\n▸ Count the west pier$/) });
});

test.each([
  ['an answer that is no summary', [`I can't do that.`, 'No.'], 1, 2],
  ['a provider that refuses', [failure('MODEL_AUTH', { model: 'm', problem: 'no key', variable: 'KEY' })], 1, 1],
  ['a provider that has failed often', [failure('MODEL_UNAVAILABLE', { model: 'm', problem: 'away' })], 6, 1],
])('%s leaves a list of calls in the place of a summary', async (_, answers, attempt, asked) => {
  const args = await begin(60, 400);
  const model = answering(...answers);
  expect(await compact(model, args, {}, attempt)).toMatchObject({ changed: true });
  expect(model.asked).toHaveLength(asked);
  const [compaction] = await store.compactions.list(args.conversationId);
  expect(compaction?.leftOut.summary).toMatchObject({ by: 'digest', decisions: expect.stringMatching(/Calls in them: shell:run \(\d+\)/) });
});

test('what an answer that is no summary has used counts, also when the provider then fails', async () => {
  const args = await begin(60, 400);
  const model = answering('No.', failure('MODEL_UNAVAILABLE', { model: 'm', problem: 'away' }));
  expect(await compact(model, args)).toEqual({ changed: true, usage: USAGE });
  expect(model.asked).toHaveLength(2);
  expect(await usageOf(args)).toMatchObject({ calls: 1, inputTokens: 1_000, outputTokens: 50 });
  const [compaction] = await store.compactions.list(args.conversationId);
  expect(compaction?.leftOut.summary).toMatchObject({ by: 'digest' });
});

test('a provider that fails for now is asked again by another attempt', async () => {
  const args = await begin(60, 400);
  await expect(compact(answering(failure('MODEL_UNAVAILABLE', { model: 'm', problem: 'away' })), args)).rejects.toMatchObject({ type: 'MODEL_UNAVAILABLE' });
  expect(await store.compactions.list(args.conversationId)).toEqual([]);
});

test('a summary that the budget does not allow is not asked for', async () => {
  const args = await begin(60, 400);
  const model = answering(SUMMARY);
  expect(await compact(model, args, { tokensLeft: 5_000 })).toEqual({ changed: true });
  expect(model.asked).toHaveLength(0);
});

test('a prompt that a provider refuses as too long is compacted, each time further, and not without end', async () => {
  const args = await begin(4, 1_000);
  const refusal = () => failure('MODEL_CONTEXT_TOO_LONG', { model: 'm', problem: 'too long' });
  expect(await callModel(answering(refusal()), args)).toEqual({ outcome: 'compact', reason: 'too-long' });
  const sizes: number[] = [];
  for (const before of [0, 1, 2]) {
    await compact(answering(SUMMARY, SUMMARY), args, { compactionId: `cmp_${before}`, reason: 'too-long', before });
    sizes.push((await store.compactions.list(args.conversationId)).at(-1)?.tokensAfter ?? Infinity);
  }
  expect(sizes.toSorted((a, b) => b - a)).toEqual(sizes);
  expect(await callModel(answering(refusal()), { ...args, compactions: 5 })).toMatchObject({ outcome: 'failed', code: 'MODEL_CONTEXT_TOO_LONG' });
});

test('a message that fills the window by itself is shown without its middle, and can be read', async () => {
  const args = await begin(0, 0);
  const text = `first ${'word '.repeat(10_000)}last`;
  await store.transcript.append(args.conversationId, 'turn_2', undefined, 'msg_2', { role: 'user', content: [{ type: 'text', text }] });
  expect(await compact(answering(), args)).toEqual({ changed: true });
  const model = answering('Done.');
  expect(await callModel(model, { ...args, compactions: 1 })).toMatchObject({ outcome: 'answered' });
  expect(JSON.stringify(model.asked[0]?.shown)).toMatch(
    /first word.*characters left out to save room\. Read it with context__recall and .{1,4}entry.{1,4} 2}.*last/,
  );
});

test('undoing gives the prompt back as it was, once for each request, and the window may fill further then', async () => {
  const args = await begin(16, 1_300);
  expect(await callModel(answering(), args)).toMatchObject({ outcome: 'compact' });
  await compact(answering(), args);
  const restore = createRestoreContext({ store });
  const undo = (requestId: string) =>
    environment().run<[RestoreContextArgs], void, typeof restore>(restore, { conversationId: args.conversationId, requestId });
  await undo('cmp_2');
  await undo('cmp_2');
  const model = answering('Done.');
  expect(await callModel(model, args)).toMatchObject({ outcome: 'answered' });
  expect(model.asked[0]?.shown).toEqual((await store.transcript.read(args.conversationId)).slice(0, -1));
  expect(
    (await eventsOf(args)).filter(({ type }) => type.startsWith('context.')).map(({ type, data }) => [type, (data as { compactionId: string }).compactionId]),
  ).toEqual([
    ['context.compacted', 'cmp_1'],
    ['context.restored', 'cmp_1'],
  ]);
});

test('a conversation whose agent has context: off is never compacted', async () => {
  const args = await begin(20, 2_000);
  const parts = { ...partsFor(answering(failure('MODEL_CONTEXT_TOO_LONG', { model: 'm', problem: 'too long' }))) };
  const never = { ...parts, agents: new Map([[agent.id, { ...agent, context: 'off' as const }]]) };
  expect(await environment().run(createCallModel(never), args)).toMatchObject({ outcome: 'failed', code: 'MODEL_CONTEXT_TOO_LONG' });
});
