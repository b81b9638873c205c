import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createCallModel } from '../../src/activities/call-model.ts';
import type { CallModelArgs, CallModelResult } from '../../src/contracts/activities.ts';
import { failure } from '../../src/contracts/errors.ts';
import type { AssistantPart } from '../../src/contracts/transcript.ts';
import type { Model } from '../../src/models/model.ts';
import { definePlugin, defineTool } from '../../src/plugins/api/define-plugin.ts';
import { createRegistry } from '../../src/plugins/registry/registry.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { makeAgent, silentLog } from '../models/support.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { beginTurn, speaking } from './step/model-calls.ts';

const registry = createRegistry([
  definePlugin({
    id: 'shell',
    tools: [
      defineTool({
        id: 'run',
        description: 'Runs a command.',
        parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
        execute: async () => 'done',
      }),
    ],
  }),
]);
const agent = { ...makeAgent('scripted/none.yaml'), approval: [{ tool: 'shell:run', decide: 'allow' as const }] };

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

let count = 0;
const begin = () => beginTurn(store, agent.id, ++count);
const calling = (tool: string, input: Record<string, string>, unreadable?: string): AssistantPart => {
  return { type: 'tool-call', callId: '', tool, arguments: input, ...(unreadable && { unreadable }) };
};

function run(model: Model, args: CallModelArgs, attempt = 1, over: Store = store, heartbeatDetails?: { failures: number }, tools = registry) {
  const environment = new MockActivityEnvironment({ attempt, heartbeatDetails }, { logger: new DefaultLogger('ERROR') });
  const opened = { ifAwake: async () => undefined };
  const callModel = createCallModel({
    store: over,
    registry: tools,
    agents: new Map([[agent.id, agent]]),
    models: { get: () => model, isPriced: () => true },
    log: silentLog,
    opened,
  });
  return { environment, result: environment.run<[CallModelArgs], CallModelResult, typeof callModel>(callModel, args) };
}
async function eventsOf({ conversationId }: CallModelArgs) {
  return (await store.events.read(conversationId, 0)).filter(({ type }) => type !== 'conversation.started');
}

describe('a model call', () => {
  test('stores the answer, proposes its calls under ids of the step, and tells readers', async () => {
    const args = await begin();
    const model = speaking({ type: 'text', text: 'I look.' }, calling('shell:run', { command: 'ls' }), calling('shell:run', { command: 'pwd' }));
    const result = await run(model, args, 2).result;
    const base = args.stepId.replace('step_', 'call_');
    expect(result).toMatchObject({
      outcome: 'answered',
      spoke: true,
      usage: { inputTokens: 3, outputTokens: 4 },
      calls: [
        { callId: `${base}00`, tool: 'shell:run', decision: 'allow', arguments: { command: 'ls' } },
        { callId: `${base}01`, tool: 'shell:run', decision: 'allow' },
      ],
    });
    expect(model.asked[0]?.tools).toMatchObject([{ tool: 'shell:run', name: 'shell__run' }]);
    expect(await store.toolCalls.get(`${base}00`)).toMatchObject({ state: 'proposed', arguments: { command: 'ls' } });
    const events = await eventsOf(args);
    expect(events.map(({ type }) => type)).toEqual(['step.started', 'text.delta', 'step.finished', 'tool.requested', 'tool.requested']);
    expect(events[1]).toMatchObject({ attempt: 2, stepId: args.stepId, data: { text: 'I look.' } });
  });

  describe('of a conversation for which tasks of plugins have asked', () => {
    const withTasks = { ...registry, tools: registry.tools.map((tool) => ({ ...tool, isolation: 'own' as const })) };
    const asked = { inputTokens: 300, outputTokens: 40, costUsd: 0.5, unpricedCalls: 0 };
    async function beginWith(tasksMayUse: CallModelArgs['tasksMayUse']): Promise<CallModelArgs> {
      const args = await begin();
      const { conversationId, turnId } = args;
      const attempt = await store.taskQuestions.reserve({ conversationId, turnId, pluginId: 'tides', questionId: 'a' }, 'a/model', () => asked);
      if (typeof attempt === 'object') await store.taskQuestions.settle(attempt, asked);
      return { ...args, ...(tasksMayUse && { tasksMayUse }) };
    }

    test('does not begin when they have used what was left, and tells what they have used', async () => {
      for (const tasksMayUse of [{ tokens: 340 }, { costUsd: 0.5 }]) {
        const model = speaking();
        expect(await run(model, await beginWith(tasksMayUse), 1, store, undefined, withTasks).result).toEqual({ outcome: 'spent', askedByTasks: asked });
        expect(model.asked).toEqual([]);
      }
    });

    test('tells what they have used with its answer when something is left', async () => {
      for (const tasksMayUse of [{ tokens: 341, costUsd: 0.6 }, {}]) {
        const result = await run(speaking({ type: 'text', text: 'Hi.' }), await beginWith(tasksMayUse), 1, store, undefined, withTasks).result;
        expect(result).toMatchObject({ outcome: 'answered', askedByTasks: asked });
      }
    });

    test('says nothing of it to a workflow of an earlier version, and looks for nothing where no plugin can have tasks', async () => {
      const reads = { ...store, taskQuestions: { ...store.taskQuestions, used: () => Promise.reject(new Error('not needed')) } };
      expect(await run(speaking({ type: 'text', text: 'Hi.' }), await beginWith(undefined), 1, reads, undefined, withTasks).result).not.toHaveProperty(
        'askedByTasks',
      );
      expect(await run(speaking({ type: 'text', text: 'Hi.' }), await beginWith({ tokens: 1 }), 1, reads).result).toMatchObject({ outcome: 'answered' });
    });
  });

  test('an answer that was cut off is marked in the transcript and in the log, also when another attempt logs its end', async () => {
    for (const calls of [[], [calling('shell:run', { command: 'ls' })]]) {
      const args = await begin();
      const spoken = speaking({ type: 'text', text: 'High water is at' }, ...calls);
      const model: Model = { answer: async (...asked) => ({ ...(await spoken.answer(...asked)), cutOff: 'length' }) };
      await run(model, args).result;
      expect(await store.transcript.answerOf(args.conversationId, args.stepId)).toMatchObject({ cutOff: 'length' });
      expect((await eventsOf(args)).filter(({ type }) => type === 'step.finished')).toMatchObject([{ data: { cutOff: 'length' } }]);
    }
  });

  test('a repeated attempt rebuilds the same outcome and does not ask again', async () => {
    const args = await begin();
    const model = speaking(calling('shell:run', { command: 'ls' }));
    const first = await run(model, args).result;
    const second = await run(model, args, 2).result;
    expect(second).toEqual(first);
    expect(model.asked).toHaveLength(1);
    expect((await eventsOf(args)).map(({ type }) => type)).toEqual(['step.started', 'step.finished', 'tool.requested']);
  });

  test('an attempt that died after it stored the answer is finished by the next', async () => {
    const args = await begin();
    const dying: Store = { ...store, toolCalls: { ...store.toolCalls, propose: () => Promise.reject(failure('POSTGRES_UNAVAILABLE', { problem: 'gone' })) } };
    const model = speaking(calling('shell:run', { command: 'ls' }));
    await expect(run(model, args, 1, dying).result).rejects.toMatchObject({ type: 'POSTGRES_UNAVAILABLE', nonRetryable: false });
    await expect(run(model, args, 2).result).resolves.toMatchObject({ outcome: 'answered', calls: [{ tool: 'shell:run' }] });
    expect(model.asked).toHaveLength(1);
    expect((await eventsOf(args)).map(({ type }) => type)).toEqual(['step.started', 'step.finished', 'tool.requested']);
  });

  test('of two attempts that race, the answer stored first counts for both', async () => {
    const args = await begin();
    const slow: Model = {
      async answer() {
        await run(speaking(calling('shell:run', { command: 'first' })), args, 2).result;
        return { parts: [calling('shell:run', { command: 'second' })], usage: { inputTokens: 0, outputTokens: 0 } };
      },
    };
    await expect(run(slow, args).result).resolves.toMatchObject({ calls: [{ arguments: { command: 'first' } }] });
  });

  test.each([
    ['an unknown tool', calling('shell:fly', {}), /Unknown tool "shell:fly"/],
    ['arguments that break the schema', calling('shell:run', {}), /not valid/],
    ['arguments that were no JSON', calling('shell:run', { command: 'ls' }, 'The arguments are no JSON object: {"com'), /no JSON object/],
  ])('%s is refused at once, with a result the model can read', async (_, part, text) => {
    const args = await begin();
    const result = await run(speaking(part), args).result;
    expect(result).toMatchObject({ calls: [{ decision: 'invalid', why: expect.stringMatching(text) }] });
    const [row] = await store.toolCalls.ofStep(args.conversationId, args.stepId);
    expect(row).toMatchObject({ state: 'failed', isError: true });
    const last = (await store.transcript.read(args.conversationId)).at(-1)?.entry;
    expect(last).toMatchObject({ role: 'tool', isError: true, content: [{ text: expect.stringMatching(text) }] });
    expect((await eventsOf(args)).at(-1)).toMatchObject({ type: 'tool.finished', data: { isError: true } });
  });

  test('big arguments stay in Postgres', async () => {
    const args = await begin();
    const result = await run(speaking(calling('shell:run', { command: 'x'.repeat(20_000) })), args).result;
    expect(JSON.stringify(result).length).toBeLessThan(2000);
    const [row] = await store.toolCalls.ofStep(args.conversationId, args.stepId);
    expect(row?.arguments).toEqual({ command: 'x'.repeat(20_000) });
  });

  test('an error that may pass is thrown for Temporal to retry; others end the step', async () => {
    const args = await begin();
    const failing = (cause: Error): Model => ({
      async answer() {
        throw cause;
      },
    });
    const limited = failure('MODEL_RATE_LIMITED', { model: 'm', problem: 'slow down' });
    await expect(run(failing(limited), args).result).rejects.toMatchObject({ type: 'MODEL_RATE_LIMITED', nonRetryable: false, nextRetryDelay: 500 });
    // The pause follows the failures and not the attempts, which deaths of workers are, too.
    await expect(run(failing(limited), args, 9).result).rejects.toMatchObject({ nextRetryDelay: 500 });
    await expect(run(failing(limited), args, 9, store, { failures: 3 }).result).rejects.toMatchObject({ nextRetryDelay: 4000 });
    await expect(run(failing(limited), args, 18, store, { failures: 17 }).result).rejects.toMatchObject({ nextRetryDelay: 60_000 });
    await expect(run(failing(limited), args, 20, store, { failures: 19 }).result).resolves.toEqual({
      outcome: 'failed',
      code: 'MODEL_RATE_LIMITED',
      message: `${limited.message} It was tried 20 times.`,
    });
    const auth = failure('MODEL_AUTH', { model: 'm', problem: 'no', variable: 'KEY' });
    await expect(run(failing(auth), args).result).resolves.toEqual({ outcome: 'failed', code: 'MODEL_AUTH', message: auth.message });
    await expect(run(failing(auth), { ...args, agentId: 'nobody' }).result).resolves.toMatchObject({ outcome: 'failed', code: 'AGENT_NOT_FOUND' });
  });

  test('cancelling aborts the request and stores nothing', async () => {
    const args = await begin();
    let entered = (): void => undefined;
    const started = new Promise<void>((resolve) => (entered = resolve));
    const hanging: Model = {
      answer: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
          entered();
        }),
    };
    const { environment, result } = run(hanging, args);
    await started;
    environment.cancel('CANCELLED', undefined);
    const error = await result.catch((error: unknown) => error);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(ApplicationFailure);
    expect(await store.transcript.read(args.conversationId)).toHaveLength(1);
  });
});
