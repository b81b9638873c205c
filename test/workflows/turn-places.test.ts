import type { WaitsForPlace } from '../../src/contracts/places/turn-place.ts';
import { asks, Stage, suspendedBy, toolCall, until, type Answer, type World } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const waits: WaitsForPlace = { limit: 'tenant', name: 'tenant', running: 3, allowed: 3 };
const noPlace: Answer = () => ({ outcome: 'waits', waits });
/** As `asks`, in a turn that is counted. */
const counted =
  (answer: Answer): Answer =>
  async (args) => ({ ...(await answer(args)), counted: true });
const placeOf = (world: World, turnId = 'turn_first') => world.handle.signal('turnHasPlace', { turnId });
const untilInLine = (world: World) =>
  until(
    async () => world.saved?.waitsForPlace !== undefined,
    () => `no turn stands in the line; ${world.names().join(', ')}`,
  );

test('without a limit, no activity and no event is about places', async () => {
  const world = await stage.start((made) => made.answers.push(asks(toolCall({ decision: 'ask' })), asks()));
  await world.untilState('awaiting-approval');
  const { pendingApprovals } = await world.status();
  const [{ callId, hash } = { callId: '', hash: '' }] = pendingApprovals;
  await world.handle.executeUpdate('resolveApproval', { args: [{ callId, hash, answer: 'allow-once' }] });
  await world.untilAsked('finishTurn');
  expect(world.names().filter((name) => name.endsWith('Place'))).toEqual([]);
  expect(world.asked('finishTurn')[0]).not.toHaveProperty('counted');
  expect(world.asked('callModel').map(({ place }) => place)).toEqual([{}, {}]);
  expect(world.events).toEqual([]);
});

test('a turn without a place waits in the line, visibly, and goes on when it is told that it has one', async () => {
  const world = await stage.start((made) => made.answers.push(noPlace, counted(asks())));
  await untilInLine(world);
  expect(world.saved).toMatchObject({ state: 'running', turnId: 'turn_first', stepsUsed: 0, waitsForPlace: waits });
  expect(world.events).toEqual(['turn.waiting']);
  expect(world.asked('saveStatus')[0]).toMatchObject({ events: [{ type: 'turn.waiting', turnId: 'turn_first', data: waits }] });
  const { workedMs } = await world.status();
  await placeOf(world, 'turn_other');
  expect((await world.status()).waitsForPlace).toEqual(waits);
  await placeOf(world);
  await world.untilAsked('finishTurn');
  expect(world.names()).toEqual(['callModel', 'saveStatus', 'askForPlace', 'saveStatus', 'callModel', 'finishTurn']);
  expect(world.asked('callModel').map(({ step }) => step)).toEqual([0, 0]);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'finished', counted: true });
  expect(world.saved).not.toHaveProperty('waitsForPlace');
  expect(workedMs).toBe(world.statuses.find(({ waitsForPlace }) => waitsForPlace)?.workedMs);
});

test('a turn whose place is gone when it asks stands in the line again, and the log tells it once', async () => {
  const world = await stage.start((made) => {
    made.answers.push(noPlace, counted(asks()));
    made.places.push({ outcome: 'waits', waits: { ...waits, running: 5 } });
  });
  await untilInLine(world);
  await placeOf(world);
  await until(
    async () => world.saved?.waitsForPlace?.running === 5,
    () => 'it does not stand in the line again',
  );
  await placeOf(world);
  await world.untilAsked('finishTurn');
  expect(world.events).toEqual(['turn.waiting']);
});

test('a place that could not be asked for with the model call is asked for by itself', async () => {
  const world = await stage.start((made) => made.answers.push(() => ({ outcome: 'waits' }), counted(asks())));
  await world.untilAsked('finishTurn');
  expect(world.names()).toEqual(['callModel', 'askForPlace', 'callModel', 'finishTurn']);
  expect(world.asked('askForPlace')).toEqual([{ conversationId: world.conversationId, turnId: 'turn_first', tenantId: 'tenant', agentId: 'fixer' }]);
});

test.each([
  ['interrupt', 'interrupted'],
  ['stopAfterStep', 'stopped'],
  ['cancel', 'cancelled'],
])('%s ends a turn that waits, and the next one is answered', async (signal, outcome) => {
  const world = await stage.start((made) => made.answers.push(noPlace, counted(asks())));
  await untilInLine(world);
  await world.handle.signal(signal);
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome, counted: true });
  await world.send('Next.');
  await world.untilAsked('finishTurn', 2);
  expect(world.asked('finishTurn')[1]).toMatchObject({ outcome: 'finished' });
});

test('a conversation that is closed while it waits gives up its position', async () => {
  const world = await stage.start((made) => made.answers.push(noPlace));
  await untilInLine(world);
  await world.close();
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted', counted: true });
  expect(world.saved).toMatchObject({ state: 'closed' });
  expect(world.saved).not.toHaveProperty('waitsForPlace');
});

test('a model call that is interrupted may have got a place, which the end of its turn gives back', async () => {
  const world = await stage.start((made) => made.answers.push(() => Promise.reject(new Error('the worker dies')), asks()));
  await world.untilAsked('callModel');
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted', counted: true });
});

test('a turn that is paused while it waits stands in the line no more, and asks anew', async () => {
  const world = await stage.start((made) => made.answers.push(noPlace, counted(asks())));
  await untilInLine(world);
  await world.handle.signal('pause', {});
  await world.untilState('paused');
  expect(world.saved).not.toHaveProperty('waitsForPlace');
  expect(world.names().filter((name) => name.endsWith('Place'))).toEqual(['leavePlace']);
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn');
  expect(world.names().filter((name) => name.endsWith('Place'))).toEqual(['leavePlace']);
});

test('a paused turn has no place', async () => {
  const call = toolCall();
  const world = await stage.start((made) => {
    made.answers.push(counted(asks(call)), counted(asks()));
    made.tool = async () => {
      await made.handle.signal('pause', {});
      return { outcome: 'finished', isError: false, sandboxTier: 'running' };
    };
  });
  await world.untilState('paused');
  await world.untilAsked('leavePlace');
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn');
  // The next model call asks by itself.
  expect(world.names().filter((name) => name.endsWith('Place') || name === 'callModel')).toEqual(['callModel', 'leavePlace', 'callModel']);
});

test('a turn that waits for a person has no place; the approved call runs when it has one again', async () => {
  const call = toolCall({ decision: 'ask' });
  const world = await stage.start((made) => {
    made.answers.push(counted(asks(call)), counted(asks()));
    made.places.push({ outcome: 'waits', waits });
  });
  await world.untilAsked('leavePlace');
  expect(world.saved).toMatchObject({ state: 'awaiting-approval' });
  await world.handle.executeUpdate('resolveApproval', { args: [{ callId: call.callId, hash: call.hash, answer: 'allow-once' }] });
  await untilInLine(world);
  expect(world.asked('shell:run')).toEqual([]);
  await placeOf(world);
  await world.untilAsked('finishTurn');
  const order = world.names().filter((name) => name.endsWith('Place') || name.startsWith('shell:run') || name === 'callModel');
  expect(order).toEqual(['callModel', 'leavePlace', 'askForPlace', 'askForPlace', `shell:run ${call.callId}`, 'callModel']);
});

test('an approved call that waits for its place is settled when the turn has to end', async () => {
  const call = toolCall({ decision: 'ask' });
  const world = await stage.start((made) => {
    made.answers.push(counted(asks(call)));
    made.places.push({ outcome: 'waits', waits });
  });
  await world.untilAsked('leavePlace');
  await world.handle.executeUpdate('resolveApproval', { args: [{ callId: call.callId, hash: call.hash, answer: 'allow-once' }] });
  await untilInLine(world);
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  expect(world.asked('settleCall')).toMatchObject([{ callId: call.callId, settlement: 'interrupted' }]);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted', counted: true });
});

test('a pause while an approved call waits for its place takes effect, and the call runs after it', async () => {
  const call = toolCall({ decision: 'ask' });
  const world = await stage.start((made) => {
    made.answers.push(counted(asks(call)), counted(asks()));
    made.places.push({ outcome: 'waits', waits });
  });
  await world.untilAsked('leavePlace');
  await world.handle.executeUpdate('resolveApproval', { args: [{ callId: call.callId, hash: call.hash, answer: 'allow-once' }] });
  await untilInLine(world);
  await world.handle.signal('pause', { mode: 'now' });
  await world.untilState('paused');
  expect(world.asked('leavePlace')).toHaveLength(2);
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run')).toHaveLength(1);
});

test('a denied call needs no place', async () => {
  const call = toolCall({ decision: 'ask' });
  const world = await stage.start((made) => made.answers.push(counted(asks(call)), counted(asks())));
  await world.untilAsked('leavePlace');
  await world.handle.executeUpdate('resolveApproval', { args: [{ callId: call.callId, hash: call.hash, answer: 'deny' }] });
  await world.untilAsked('finishTurn');
  expect(world.asked('askForPlace')).toEqual([]);
});

test('code that waits for a person has no place, and continues when it has one again', async () => {
  const call = toolCall({ tool: 'code:run' });
  const asked = toolCall({ decision: 'ask', callId: `${call.callId}-1m1` });
  const world = await stage.start((made) => {
    made.answers.push(counted(asks(call)), counted(asks()));
    made.tool = suspendedBy(call.callId, [asked]);
    made.places.push({ outcome: 'waits', waits });
  });
  await world.untilAsked('leavePlace');
  await world.handle.executeUpdate('resolveApproval', { args: [{ callId: asked.callId, hash: asked.hash, answer: 'allow-once' }] });
  await untilInLine(world);
  expect(world.asked('shell:run')).toEqual([]);
  await placeOf(world);
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run')).toHaveLength(1);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'finished', counted: true });
});

test('a turn whose calls all wait for sub-agents has no place', async () => {
  const call = toolCall({ tool: 'agents:run', needsSandbox: false, share: {}, waits: true });
  const world = await stage.start((made) => {
    let attaches = 0;
    made.answers.push(counted(asks(call)), counted(asks()));
    made.tool = async () => {
      attaches += 1;
      if (attaches === 1) return { outcome: 'suspended', calls: [], waitsFor: ['conv_child'], sandboxTier: 'none' };
      return { outcome: 'finished', isError: false, sandboxTier: 'none' };
    };
  });
  await world.untilAsked('leavePlace');
  await world.handle.signal('subAgentEnded', { callId: call.callId, spent: { tokens: 1, steps: 1, workedMs: 1, costUsd: 0 } });
  await world.untilAsked('finishTurn');
  const order = world.names().filter((name) => name.endsWith('Place') || name.startsWith('agents:run') || name === 'callModel');
  expect(order).toEqual(['callModel', `agents:run ${call.callId}`, 'leavePlace', `agents:run ${call.callId}`, 'callModel']);
});
