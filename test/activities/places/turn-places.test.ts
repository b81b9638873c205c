import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { inPlace } from '../../../src/activities/places/in-place.ts';
import { createTurnPlaceDesk, type TurnPlaceDesk } from '../../../src/activities/places/turn-places.ts';
import type { CallModelArgs, CallModelResult } from '../../../src/contracts/activities.ts';
import type { Agent } from '../../../src/contracts/agent.ts';
import { failure } from '../../../src/contracts/errors.ts';
import type { Limits } from '../../../src/contracts/limits/limits.ts';
import type { WaitsForPlace } from '../../../src/contracts/places/turn-place.ts';
import type { PlacedTurn, TurnLimits, TurnPlaces } from '../../../src/store/conversation/turn-places.ts';
import type { Answer } from '../../../src/contracts/transcript.ts';
import { silentLog } from '../../models/support.ts';

const turn = { conversationId: 'conv_1', turnId: 'turn_1', tenantId: 'acme', agentId: 'fixer' };
const other: PlacedTurn = { conversationId: 'conv_2', turnId: 'turn_2', given: 7 };
const waits: WaitsForPlace = { limit: 'tenant', name: 'acme', running: 3, allowed: 3 };

/** A desk over places that answer as the test says. */
function openDesk(settings: { limits?: TurnLimits; agentMost?: number; ofTenant?: Limits; told?: boolean } = {}) {
  const asked: unknown[] = [];
  const told: string[] = [];
  const looked: unknown[] = [];
  const answers: Awaited<ReturnType<TurnPlaces['ask']>>[] = [];
  const turnPlaces: TurnPlaces = {
    ask: async (asking) => {
      asked.push(asking);
      return answers.shift() ?? { place: { outcome: 'held' }, others: [] };
    },
    leave: async () => [other],
    sweep: async (_limits, agents) => {
      looked.push(agents);
      return [other];
    },
    told: async ({ conversationId }) => void told.push(`stored ${conversationId}`),
  };
  const limits = {
    find: async (subjects: unknown) => {
      looked.push(subjects);
      return [settings.ofTenant];
    },
  };
  const places = {
    limits: settings.limits ?? {},
    tell: async ({ conversationId }: PlacedTurn) => {
      if (settings.told === false) throw new Error('Temporal does not answer');
      told.push(`told ${conversationId}`);
    },
  };
  const agent = { id: 'fixer', priority: 'low', ...(settings.agentMost !== undefined && { maxRunningTurns: settings.agentMost }) } as Agent;
  const store = { turnPlaces, limits } as unknown as Parameters<typeof createTurnPlaceDesk>[0]['store'];
  return { desk: createTurnPlaceDesk({ store, agents: new Map([['fixer', agent]]), places, log: silentLog }), asked, told, looked, answers };
}

test('without any limit, nothing is asked but whether the tenant has one, once in five seconds', async () => {
  const { desk, asked, looked } = openDesk({ ofTenant: { requestsPerMinute: 5 } });
  for (let time = 0; time < 3; time += 1) expect(await desk.ask(turn)).toEqual({ outcome: 'unlimited' });
  expect([asked, looked]).toEqual([[], [[{ tenant: 'acme' }]]]);
});

test.each([
  ['of the installation', { limits: { installation: 5 } }],
  ['of every tenant', { limits: { tenant: 5 } }],
  ['of the agent', { agentMost: 5 }],
  ['of the tenant alone', { ofTenant: { runningTurns: 5 } }],
])('with a limit %s, a place is asked for', async (_, settings) => {
  const { desk, asked } = openDesk(settings);
  expect(await desk.ask({ ...turn, parentId: 'conv_0' })).toEqual({ outcome: 'counted' });
  expect(asked).toEqual([{ ...turn, parentId: 'conv_0', agentMost: 'agentMost' in settings ? 5 : undefined, priority: 'low' }]);
});

test('whoever has got a place is told of it, and then it is stored that it knows', async () => {
  const { desk, told, looked, answers } = openDesk({ limits: { tenant: 1 } });
  answers.push({ place: { outcome: 'waits', waits }, others: [other] });
  expect(await desk.ask(turn)).toEqual({ outcome: 'waits', waits });
  await desk.leave(turn, 'rests');
  await desk.sweep();
  expect(looked).toEqual([{ fixer: null }]);
  expect(told).toEqual(['told conv_2', 'stored conv_2', 'told conv_2', 'stored conv_2', 'told conv_2', 'stored conv_2']);
});

test('a conversation that could not be told hinders nobody: the next sweep tells it', async () => {
  const { desk, told } = openDesk({ limits: { tenant: 1 }, told: false });
  await desk.leave(turn, 'ends');
  await desk.sweep();
  expect(told).toEqual([]);
});

test('a turn that can run no more is not counted', async () => {
  const { desk, answers } = openDesk({ limits: { tenant: 1 } });
  answers.push({ place: { outcome: 'over' }, others: [] });
  expect(await desk.ask(turn)).toEqual({ outcome: 'unlimited' });
});

const ANSWERED: CallModelResult = { outcome: 'answered', calls: [], usage: { inputTokens: 1, outputTokens: 1 }, spoke: true };
const args: CallModelArgs = { ...turn, userId: 'u', stepId: 'step_1', step: 0, place: {} };

function callIn(
  ask: TurnPlaceDesk['ask'],
  given: CallModelArgs = args,
  { stored, attempt = 1 }: { stored?: Answer; attempt?: number } = {},
): Promise<CallModelResult> {
  const store = { transcript: { answerOf: async () => stored } };
  return new MockActivityEnvironment({ attempt }, { logger: new DefaultLogger('ERROR') }).run(
    inPlace(async () => ANSWERED, { desk: { ask }, store, log: silentLog }),
    given,
  );
}

test('a model call of a turn that may run says whether the turn is counted', async () => {
  expect(await callIn(async () => ({ outcome: 'counted' }))).toEqual({ ...ANSWERED, counted: true });
  expect(await callIn(async () => ({ outcome: 'unlimited' }))).toEqual(ANSWERED);
});

test('a workflow of an earlier version asks for no place', async () => {
  const { place: _, ...older } = args;
  expect(await callIn(() => Promise.reject(new Error('asked')), older)).toEqual(ANSWERED);
});

test('the model is not called for a turn without a place, unless an earlier attempt has its answer', async () => {
  expect(await callIn(async () => ({ outcome: 'waits', waits }))).toEqual({ outcome: 'waits', waits });
  const stored: Answer = { role: 'assistant', parts: [], usage: { inputTokens: 1, outputTokens: 1 } };
  expect(await callIn(async () => ({ outcome: 'waits', waits }), args, { stored })).toEqual({ ...ANSWERED, counted: true });
});

test('when the database does not answer, the model is not called, and the place is asked for by itself', async () => {
  expect(await callIn(() => Promise.reject(failure('POSTGRES_UNAVAILABLE', { problem: 'gone' })))).toEqual({ outcome: 'waits' });
});

test('a later attempt does not wait for its place in another step: an earlier one may have the answer of this step', async () => {
  const away = failure('POSTGRES_UNAVAILABLE', { problem: 'gone' });
  await expect(callIn(() => Promise.reject(away), args, { attempt: 2 })).rejects.toBe(away);
});

test('a place is asked for with the number of the activity in the run of its workflow, so that a late attempt is known as such', async () => {
  const asked: unknown[] = [];
  const ask: TurnPlaceDesk['ask'] = async (_, by) => {
    asked.push(by);
    return { outcome: 'counted' };
  };
  const workflowExecution = { workflowId: 'conv_1', runId: 'run_1' };
  const call = inPlace(async () => ANSWERED, { desk: { ask }, store: { transcript: { answerOf: async () => undefined } }, log: silentLog });
  const environment = (activityId: string) => new MockActivityEnvironment({ activityId, workflowExecution }, { logger: new DefaultLogger('ERROR') });
  for (const activityId of ['12', 'named']) await environment(activityId).run(call, args);
  expect(asked).toEqual([{ run: 'run_1', number: 12 }, undefined]);
});
