import { asks, Stage, toolCall, until } from '../support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

test('a pause now after one at the end of the step reaches the sub-agents, and all are resumed once', async () => {
  const call = toolCall({ tool: 'agents:run', needsSandbox: false, share: {}, waits: true });
  const world = await stage.start((made) => {
    made.answers.push(asks(call));
    made.tool = async () => ({ outcome: 'suspended', calls: [], waitsFor: ['conv_child'], sandboxTier: 'none' });
  });
  await world.untilAsked('agents:run');
  await until(
    async () => (await world.status()).runningCalls.length === 0,
    () => 'the call of the sub-agent is attached to',
  );
  await world.handle.signal('pause');
  await world.untilAsked('holdSubAgent');
  // The step ends with the sub-agent, which waits.
  expect((await world.status()).state).toBe('running');
  await world.handle.signal('pause', { mode: 'now' });
  await world.untilState('paused');
  await world.untilAsked('holdSubAgent', 2);
  await world.handle.signal('resume');
  await world.untilAsked('holdSubAgent', 3);
  expect(world.asked('holdSubAgent').map(({ pause }) => pause)).toEqual(['step', 'now', undefined]);
});

test('every pause now reaches the sub-agents as such', async () => {
  const call = toolCall({ tool: 'agents:run', needsSandbox: false, share: {}, waits: true });
  const world = await stage.start((made) => {
    made.answers.push(asks(call));
    made.tool = async () => ({ outcome: 'suspended', calls: [], waitsFor: ['conv_child'], sandboxTier: 'none' });
  });
  await world.untilAsked('agents:run');
  for (let count = 1; count <= 3; count += 1) {
    await world.handle.signal('pause', { mode: 'now' });
    await world.untilState('paused');
    await world.untilAsked('holdSubAgent', 2 * count - 1);
    await world.handle.signal('resume');
    await world.untilAsked('holdSubAgent', 2 * count);
    await world.untilState('running');
  }
  expect(world.asked('holdSubAgent').map(({ pause }) => pause)).toEqual(['now', undefined, 'now', undefined, 'now', undefined]);
});

test('sub-agents are resumed, also when a new run begins with the resume', async () => {
  const call = toolCall({ tool: 'agents:start', needsSandbox: false, share: {} });
  const world = await stage.start((made) => {
    made.answers.push(asks(call));
    made.tool = async () => ({ outcome: 'finished', isError: false, started: 'conv_child', sandboxTier: 'none' });
  });
  await world.untilAsked('finishTurn');
  const first = (await world.handle.describe()).runId;
  await world.handle.signal('pause');
  await world.untilAsked('holdSubAgent');
  // The sub-agent cannot be reached at once.
  let failed = 0;
  world.hold = async () => {
    if (failed++ < 3) throw new Error('Temporal is not there');
  };
  // Temporal suggests a new run for a history of 4 MiB.
  const much = 'x'.repeat(1_500_000);
  for (const name of ['newVersion', 'newVersion', 'resume']) await world.handle.signal(name, { much });
  await until(
    async () => (await world.handle.describe()).runId !== first,
    () => 'no new run has begun',
  );
  await world.untilAsked('holdSubAgent', 5);
  expect(world.asked('holdSubAgent').map(({ pause }) => pause)).toEqual(['step', undefined, undefined, undefined, undefined]);
});
