import { Context } from '@temporalio/activity';
import type { ConversationInput, CarriedConversation } from '../../../src/contracts/conversation-run.ts';
import { asks, Stage, toolCall, until, type World } from '../support.ts';
import { counted, finished, padding } from './long.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** The run that asked for this activity. */
const runOf = (): unknown => Context.current().info.workflowExecution?.runId;

const background = () => toolCall({ tool: 'agents:start', needsSandbox: false, share: {} });
const started = (): Promise<ReturnType<typeof finished>> => Promise.resolve(finished({ started: 'conv_child', sandboxTier: 'none' }));

test('no call begins for a turn that is ended while it waits to go on in a new run', async () => {
  const agent = background();
  const calls = counted(12).map(() => toolCall());
  let released = false;
  const world = await stage.start((made) => {
    made.answers.push(asks(agent, ...calls));
    made.hold = () =>
      until(
        async () => released,
        () => 'it is not released',
      );
    made.tool = async ({ callId }) => {
      if (callId === agent.callId) return started();
      if (callId === calls[0]?.callId) await made.handle.signal('pause', { mode: 'step' });
      return finished({ padding });
    };
  });
  await world.untilAsked('shell:run', 2);
  await until(
    async () => (await world.status()).runningCalls.length === 0,
    () => 'it does not wait to go on in a new run',
  );
  const begun = world.asked('shell:run').length;
  expect(begun).toBeLessThan(calls.length);
  await world.handle.signal('interrupt');
  released = true;
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run')).toHaveLength(begun);
  expect(world.asked('settleCall')).toHaveLength(calls.length - begun);
});

test('a turn goes on in a new run with all that the calls of its step and waiting messages may take', async () => {
  const calls = counted(40).map((index) => toolCall(index < 8 ? { arguments: { command: '中'.repeat(16_000) } } : {}));
  let sent = false;
  const world = await stage.start((made) => {
    made.answers.push(asks(...calls));
    made.tool = async () => {
      await until(
        async () => sent,
        () => 'the messages are not sent',
      );
      return finished({ padding });
    };
  });
  const first = (await world.handle.describe()).runId;
  await world.untilAsked('shell:run');
  for (const index of counted(100)) await world.send('x'.repeat(16_300), { messageId: `msg_${index}` });
  sent = true;
  await world.untilAsked('finishTurn');
  expect(new Set(world.asked('shell:run').map(({ callId }) => callId)).size).toBe(calls.length);
  expect((await world.handle.describe()).runId).not.toBe(first);
});

/** Begins the next run of a conversation, with a signal that comes before it. */
async function nextRun(world: World, carried: CarriedConversation, signal: string): Promise<void> {
  const input: ConversationInput = {
    conversationId: world.conversationId,
    agentId: 'fixer',
    userId: 'user',
    tenantId: 'tenant',
    limits: { budget: {}, freezeAfterMs: 0, stopAfterMs: 0, onClose: 'destroy', approvalTimeoutMs: 0 },
    carried,
  };
  const options = { taskQueue: stage.taskQueue, workflowId: world.conversationId, args: [input] as [ConversationInput], signal };
  world.handle = await stage.client.workflow.signalWithStart('conversation', options);
}

const carried: CarriedConversation = {
  queue: [],
  recentMessages: [],
  turnsUsed: 1,
  tokensUsed: 0,
  workedMs: 0,
  sandboxTier: 'none',
  allowedTools: [],
  extraTurns: 0,
  extraTokens: 0,
  extraWallTimeMs: 0,
  subAgents: [{ callId: 'call_agent', asked: {}, share: {}, conversationId: 'conv_child', inBackground: true }],
};
const byOperator = { by: 'operator' as const };
const turn = {
  turnId: 'turn_moved',
  message: { messageId: 'msg_first', turnId: 'turn_moved' },
  steps: 1,
  extraSteps: 0,
  steers: [],
  unaccepted: [],
  moved: true as const,
};

test.each([
  ['a paused conversation', { paused: byOperator, pausedAtMs: 1 }],
  ['a turn that was to pause', { turn, pauseWish: { reason: byOperator, mode: 'step' as const } }],
])('sub-agents of %s are resumed when a new run finds the resume at its begin', async (_, more) => {
  const world = await stage.start(undefined, {}, false);
  await world.close();
  await nextRun(world, { ...carried, ...more }, 'resume');
  await world.untilAsked('holdSubAgent');
  expect(world.asked('holdSubAgent')).toEqual([{ conversationId: world.conversationId, callId: 'call_agent' }]);
});

test.each([
  ['a client', { tool: 'client:open_file', client: true as const }, { client: { leftMs: 1 } }],
  ['a sub-agent', { tool: 'agents:run', share: {}, waits: true as const, readOnly: true }, { waitsForPlace: true as const }],
])('a turn that waits long for %s goes on waiting in new runs', async (_, made, waiting) => {
  const calls = [toolCall({ needsSandbox: false, ...made }), toolCall({ needsSandbox: false, ...made })];
  const long = { padding };
  const looks = new Map<string, number>();
  const runs = new Set<unknown>();
  const world = await stage.start(
    (that) => {
      that.answers.push(asks(...calls));
      that.places.push({ outcome: 'counted' });
      that.tool = async ({ callId }) => {
        runs.add(runOf());
        const look = (looks.get(callId) ?? 0) + 1;
        looks.set(callId, look);
        void that.handle.signal('subAgentHasPlace', { callId });
        // It can move when no call is being looked at, which comes late where the looks of the two always overlap.
        if (look > 12 && runs.size > 1) return finished({ sandboxTier: 'none' });
        return { outcome: 'suspended', calls: [], sandboxTier: 'none', ...waiting, ...(look > 12 ? {} : long) };
      };
    },
    { stopAfterMs: 1 },
  );
  await world.untilAsked('finishTurn');
  expect(Math.min(...looks.values())).toBeGreaterThan(12);
  expect(world.asked('callModel')).toHaveLength(2);
  expect(await world.status()).toMatchObject({ state: 'idle', runningCalls: [] });
});

test('code that always has a call of its own open goes on in a new run', async () => {
  const code = toolCall();
  const methods = counted(60).map((index) => toolCall({ callId: `method_${index}`, needsSandbox: false }));
  const done = new Set<string>();
  const runs = new Set<unknown>();
  const world = await stage.start((made) => {
    made.answers.push(asks(code));
    made.tool = async ({ callId, openMethods = [] }) => {
      if (callId !== code.callId) {
        runs.add(runOf());
        done.add(callId);
        return finished({ padding });
      }
      const open = methods.filter((method) => !done.has(method.callId)).slice(0, 4);
      // The newest of the open calls is looked at before the others have ended.
      const ended = () => openMethods.filter((method) => done.has(method)).length;
      await until(
        async () => openMethods.length === 0 || ended() > 0,
        () => 'no call of the code has ended',
      );
      if (methods.every((method) => done.has(method.callId))) return finished();
      return { outcome: 'suspended', calls: open.filter((method) => !openMethods.includes(method.callId)), sandboxTier: 'running' };
    };
  });
  await world.untilAsked('finishTurn');
  expect(runs.size).toBeGreaterThan(1);
  const ran = world.asked('shell:run').map(({ callId }) => callId);
  for (const { callId } of methods) expect(ran.filter((id) => id === callId)).toHaveLength(1);
});

/** Seconds of the newest timer of a conversation. */
async function newestTimer({ conversationId }: World): Promise<number | undefined> {
  const request = { namespace: 'default', execution: { workflowId: conversationId }, maximumPageSize: 6 };
  const { history } = await stage.client.workflowService.getWorkflowExecutionHistoryReverse(request);
  const timer = history?.events?.find(({ timerStartedEventAttributes }) => timerStartedEventAttributes)?.timerStartedEventAttributes;
  return timer ? Number(timer.startToFireTimeout?.seconds) : undefined;
}

test.each([
  ['have not ended', { waitsFor: ['conv_child'] }, 60 * 60],
  ['have no place', { waitsForPlace: true as const }, 5 * 60],
])('code that waits for sub-agents that %s looks at them more seldom when the history is long', async (_, waiting, seconds) => {
  const code = toolCall();
  const [first, last] = [1, 2].map((number) =>
    toolCall({ callId: `method_agent_${number}`, tool: 'agents:run', needsSandbox: false, share: { tokens: 1 }, waits: true }),
  );
  const methods = counted(16).map((index) => toolCall({ callId: `method_${index}`, tool: 'files:list', needsSandbox: false }));
  const order = [first!, ...methods, last!];
  let looksOn = false;
  const world = await stage.start((made) => {
    made.answers.push(asks(code));
    made.tool = async ({ callId, tool, openMethods = [] }) => {
      if (tool === 'agents:run') return { outcome: 'suspended', calls: [], sandboxTier: 'running', ...waiting };
      if (callId === code.callId) {
        const begun = openMethods.length === 0 ? 0 : 1 + made.asked('files:list').length;
        return { outcome: 'suspended', calls: order.slice(begun, begun === 0 ? 2 : begun + 1), sandboxTier: 'running' };
      }
      await until(
        async () => looksOn,
        () => 'the first look is not over',
      );
      return finished({ padding: padding.slice(0, 300_000) });
    };
  });
  const untilTimer = (wanted: number) =>
    until(
      async () => (await newestTimer(world)) === wanted,
      () => `the newest timer is not one of ${wanted} seconds; ${world.names().join(', ')}`,
    );
  await untilTimer(seconds);
  looksOn = true;
  await untilTimer(6 * seconds);
});
