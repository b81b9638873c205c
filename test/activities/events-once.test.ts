import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import * as fc from 'fast-check';
import { createAcceptMessage } from '../../src/activities/accept-message.ts';
import { createCallModel } from '../../src/activities/call-model.ts';
import { createFinishTurn } from '../../src/activities/finish-turn.ts';
import { createRecordApproval } from '../../src/activities/record-approval.ts';
import { createSaveStatus } from '../../src/activities/save-status.ts';
import { callOfStep } from '../../src/contracts/call-ids.ts';
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
const askModel: Work = (over, conversationId) => askInStep(over, conversationId, 'step_1');
function askInStep(over: Store, conversationId: string, stepId: string): Promise<unknown> {
  const args = { conversationId, agentId: agent.id, turnId, stepId, step: 0, userId: 'u', tenantId: 't' };
  const model = { answer: async () => ({ parts: answer, usage: { inputTokens: 3, outputTokens: 4 } }) };
  const opened = { ifAwake: async () => undefined };
  const models = { get: () => model, isPriced: () => true };
  return createCallModel({ store: over, registry, agents: new Map([[agent.id, agent]]), models, log: silentLog, opened })(args);
}
/** What a turn logs, activity by activity. */
const TURN: Work[] = [
  (over, conversationId) => {
    const status = statusOf(conversationId, { state: 'running' });
    return createAcceptMessage({ store: over })({ conversationId, turnId, messageId: 'msg_1', text: 'Hello', steers: false, status });
  },
  askModel,
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

describe('a turn that is ended while the model is called', () => {
  // Ids of calls are made of the step's id, and no two conversations have the same.
  const stepOf = (conversationId: string) => `step_${conversationId}`;
  const callsOf = (conversationId: string) => [callOfStep(stepOf(conversationId), 0), callOfStep(stepOf(conversationId), 1)];
  const ask: Work = (over, conversationId) => askInStep(over, conversationId, stepOf(conversationId));
  /** @param eventsOf names the event */
  const interruptTurn =
    (eventsOf: 'turn' | 'activity'): Work =>
    (over, conversationId) => {
      const end = { turnId, outcome: 'interrupted' as const, endedIn: stepOf(conversationId), eventsOf, status: statusOf(conversationId) };
      return createFinishTurn({ store: over, desk: { leave: async () => undefined } })({ conversationId, ...end });
    };
  /** What is stored of the calls: how often each was requested and has ended in the log, its state, and its results in the transcript. */
  async function endsOf(conversationId: string): Promise<unknown[]> {
    const events = await store.events.read(conversationId, 0);
    const transcript = await store.transcript.read(conversationId);
    const told = (type: string, callId: string) => events.filter((event) => event.type === type && event.data['callId'] === callId).length;
    const results = (callId: string) => transcript.filter(({ entry }) => entry.role === 'tool' && entry.callId === callId).length;
    const stateOf = async (callId: string) => (await store.toolCalls.get(callId))?.state;
    const endOf = async (callId: string) => [told('tool.requested', callId), told('tool.finished', callId), await stateOf(callId), results(callId)];
    return Promise.all(callsOf(conversationId).map(endOf));
  }
  const isAnswered = async (conversationId: string) => (await store.transcript.answerOf(conversationId, stepOf(conversationId))) !== undefined;

  test('gives each call of an answer that was stored one result, wherever the worker died, and however often the end is tried', async () => {
    const crash = fc.record({ use: fc.integer({ min: 1, max: 12 }), after: fc.boolean() });
    const plan = fc.record({ death: crash, crashes: fc.array(crash, { maxLength: 3 }), eventsOf: fc.constantFrom('turn' as const, 'activity' as const) });
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(plan, async ({ death, crashes, eventsOf }) => {
        const conversationId = await newConversation(store);
        await attemptAt(ask, 'model', failingAt(death), conversationId, 1).catch(() => undefined);
        for (const one of crashes) await attemptAt(interruptTurn(eventsOf), 'end', failingAt(one), conversationId, 1).catch(() => undefined);
        await attemptAt(interruptTurn(eventsOf), 'end', store, conversationId, 1);
        const wasAnswered = await isAnswered(conversationId);
        answered += wasAnswered ? 1 : 0;
        expect(await endsOf(conversationId)).toEqual([1, 2].map(() => (wasAnswered ? [1, 1, 'interrupted', 1] : [0, 0, undefined, 0])));
        const log = await store.events.read(conversationId, 0);
        expect(log.filter(({ type }) => type === 'step.finished')).toHaveLength(wasAnswered ? 1 : 0);
        expect(log.at(-1)).toMatchObject({ type: 'turn.finished' });
      }),
      { numRuns: 40 },
    );
    expect(answered).toBeGreaterThan(0);
  });

  test('tells the model that they were not run', async () => {
    const conversationId = await newConversation(store);
    await attemptAt(ask, 'model', store, conversationId, 1);
    await attemptAt(interruptTurn('turn'), 'end', store, conversationId, 1);
    const text = 'Interrupted before it started; nothing was run.';
    expect(await store.toolCalls.get(callsOf(conversationId)[0] ?? '')).toMatchObject({ content: [{ type: 'text', text }] });
  });

  test('takes no answer that comes after its end', async () => {
    const conversationId = await newConversation(store);
    await attemptAt(interruptTurn('turn'), 'end', store, conversationId, 1);
    const late = attemptAt(ask, 'model', store, conversationId, 1);
    await expect(late).rejects.toThrow('The turn had ended before the model answered; the answer was not stored');
    expect(await isAnswered(conversationId)).toBe(false);
    expect(await endsOf(conversationId)).toEqual([1, 2].map(() => [0, 0, undefined, 0]));
  });

  test('takes an answer in another run, such as one after a reset', async () => {
    const conversationId = await newConversation(store);
    const inRun = (runId: string, work: Work) =>
      new MockActivityEnvironment({ workflowExecution: { workflowId: conversationId, runId } }).run(work, store, conversationId, 1);
    await inRun('run-1', interruptTurn('turn'));
    await inRun('run-2', ask);
    expect(await isAnswered(conversationId)).toBe(true);
  });
});
