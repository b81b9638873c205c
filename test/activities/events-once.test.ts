import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import * as fc from 'fast-check';
import { createAcceptMessage } from '../../src/activities/accept-message.ts';
import { createCallModel } from '../../src/activities/call-model.ts';
import { createFinishTurn } from '../../src/activities/finish-turn.ts';
import { createRecordApproval } from '../../src/activities/record-approval.ts';
import { createSaveStatus } from '../../src/activities/save-status.ts';
import { createToolMessages } from '../../src/tool-calls/run/tool-messages.ts';
import type { ToolRun } from '../../src/tool-calls/run/tool-run.ts';
import type { AssistantPart } from '../../src/contracts/transcript.ts';
import { definePlugin, defineTool } from '../../src/plugins/api/define-plugin.ts';
import { createRegistry } from '../../src/plugins/registry/registry.ts';
import type { Store } from '../../src/store/store.ts';
import { makeAgent, silentLog } from '../models/support.ts';
import { newConversation, statusOf, useTestStore } from '../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const agent = { ...makeAgent('scripted/none.yaml'), approval: [{ tool: 'shell:run', decide: 'allow' as const }] };
const run = defineTool({ id: 'run', description: 'Runs.', parameters: { type: 'object' }, execute: async () => 'done' });
const registry = createRegistry([definePlugin({ id: 'shell', tools: [run] })]);
const answer: AssistantPart[] = [
  { type: 'text', text: 'I look.' },
  ...[1, 2].map(() => ({ type: 'tool-call' as const, callId: '', tool: 'shell:run', arguments: {} })),
];

type Work = (over: Store, conversationId: string, attempt: number) => Promise<unknown>;
const turnId = 'turn_1';
/** What a turn logs, activity by activity. */
const TURN: Work[] = [
  (over, conversationId) => {
    const status = statusOf(conversationId, { state: 'running' });
    return createAcceptMessage({ store: over })({ conversationId, turnId, messageId: 'msg_1', text: 'Hello', steers: false, status });
  },
  (over, conversationId) => {
    const args = { conversationId, agentId: agent.id, turnId, stepId: 'step_1', step: 0, userId: 'u', tenantId: 't' };
    const model = { answer: async () => ({ parts: answer, usage: { inputTokens: 3, outputTokens: 4 } }) };
    const opened = { ifAwake: async () => undefined };
    const models = { get: () => model, isPriced: () => true };
    return createCallModel({ store: over, registry, agents: new Map([[agent.id, agent]]), models, log: silentLog, opened })(args);
  },
  (over, conversationId) => {
    const event = { type: 'requested' as const, why: 'by its rule', expiresAtMs: 1 };
    return createRecordApproval({ store: over })({ conversationId, turnId, callId: 'call_100', tool: 'shell:run', hash: 'h', event });
  },
  async (over, conversationId, attempt) => {
    const args = { conversationId, turnId, stepId: 'step_1', callId: 'call_100', tool: 'shell:run' };
    const { send, note } = createToolMessages({ args, store: over, claim: { attempt } } as unknown as ToolRun, new AbortController().signal);
    await send('first');
    await note('noted');
    await note('noted');
    await send('second');
  },
  (over, conversationId) => {
    const events = ['a', 'b', 'a'].map((text) => ({ type: 'note' as const, turnId, data: { text } }));
    return createSaveStatus({ store: over })({ status: statusOf(conversationId), events });
  },
  (over, conversationId) =>
    createFinishTurn({ store: over, desk: { leave: async () => undefined } })({
      conversationId,
      turnId,
      outcome: 'finished',
      status: statusOf(conversationId),
    }),
];

function attemptAt(work: Work, activityId: string, over: Store, conversationId: string, attempt: number): Promise<unknown> {
  const environment = new MockActivityEnvironment({ activityId, attempt }, { logger: new DefaultLogger('ERROR') });
  return environment.run(work, over, conversationId, attempt);
}

/** The log without the numbers of attempts. */
async function logOf(conversationId: string): Promise<unknown[]> {
  const events = await store.events.read(conversationId, 0);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
  return events.flatMap(({ type, data }) => (type === 'step.started' || type === 'text.delta' ? [] : [[type, data]]));
}

/** Breaks down at the n-th use of the store: before it happens, or after, when its result is lost. */
function failingAt({ use, after }: { use: number; after: boolean }): Store {
  let uses = 0;
  const family = (name: keyof Store) =>
    new Proxy(store[name], {
      get:
        (of, method) =>
        async (...given: unknown[]) => {
          const isNow = ++uses === use;
          if (isNow && !after) throw new Error('crash');
          const result: unknown = await (Reflect.get(of, method) as (...given: unknown[]) => unknown)(...given);
          if (isNow) throw new Error('crash');
          return result;
        },
    });
  return new Proxy(store, { get: (_of, name) => family(name as keyof Store) });
}

let undisturbed: unknown[];
beforeAll(async () => {
  const conversationId = await newConversation(store);
  for (const [index, work] of TURN.entries()) await attemptAt(work, `${conversationId}-${index}`, store, conversationId, 1);
  undisturbed = await logOf(conversationId);
});

test('an undisturbed turn logs each of its events', () => {
  expect(undisturbed.map((event) => (event as [string])[0])).toEqual(
    ['conversation.started', 'message.received', 'turn.started', 'step.finished', 'tool.requested', 'tool.requested', 'tool.approval-requested'].concat([
      'message.sent',
      'note',
      'note',
      'message.sent',
      'note',
      'note',
      'note',
      'turn.finished',
    ]),
  );
});

test('wherever attempts break down, and however often, the log is that of an undisturbed turn', async () => {
  const crashes = fc.array(fc.record({ use: fc.integer({ min: 1, max: 12 }), after: fc.boolean() }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.tuple(...TURN.map(() => crashes)), async (plans) => {
      const conversationId = await newConversation(store);
      for (const [index, work] of TURN.entries()) {
        let attempt = 1;
        const activityId = `${conversationId}-${index}`;
        for (const crash of plans[index] ?? []) await attemptAt(work, activityId, failingAt(crash), conversationId, attempt++).catch(() => undefined);
        await attemptAt(work, activityId, store, conversationId, attempt);
      }
      expect(await logOf(conversationId)).toEqual(undisturbed);
    }),
    { numRuns: 25 },
  );
});

test('an attempt that was thought dead and runs beside its successors adds nothing', async () => {
  for (let round = 0; round < 5; round += 1) {
    const conversationId = await newConversation(store);
    for (const [index, work] of TURN.entries()) {
      const activityId = `${conversationId}-${index}`;
      await Promise.all([1, 2, 3].map((attempt) => attemptAt(work, activityId, store, conversationId, attempt)));
    }
    const log = await logOf(conversationId);
    const texts = (events: unknown[]) => events.map((event) => JSON.stringify(event)).toSorted();
    expect(texts(log)).toEqual(texts(undisturbed));
  }
});

test('the same activity of another run, such as one after a reset, logs its own events', async () => {
  const conversationId = await newConversation(store);
  const finish: Work = TURN.at(-1)!;
  for (const runId of ['run-1', 'run-2', 'run-2']) {
    const environment = new MockActivityEnvironment({ activityId: '7', workflowExecution: { workflowId: conversationId, runId } });
    await environment.run(finish, store, conversationId, 1);
  }
  expect(await logOf(conversationId)).toHaveLength(3);
});

test('a turn that another activity of the same run ends again has one end, and keeps the status that was saved after it', async () => {
  const conversationId = await newConversation(store);
  const end: Work = (over) =>
    createFinishTurn({ store: over, desk: { leave: async () => undefined } })({
      conversationId,
      turnId,
      outcome: 'finished',
      eventsOf: 'turn',
      status: statusOf(conversationId),
    });
  await attemptAt(end, 'local', store, conversationId, 1);
  await store.conversations.saveStatus(statusOf(conversationId, { state: 'running', turnId: 'turn_2' }), []);
  await attemptAt(end, '7', store, conversationId, 1);
  expect(await logOf(conversationId)).toEqual([expect.arrayContaining(['conversation.started']), ['turn.finished', { outcome: 'finished' }]]);
  expect(await store.conversations.get(conversationId)).toMatchObject({ state: 'running', status: { turnId: 'turn_2' } });
});
