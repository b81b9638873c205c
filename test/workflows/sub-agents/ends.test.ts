import type { Answer } from '../answers.ts';
import { asks, Stage, toolCall, until, type World } from '../support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const gives = (more: { sharesSandbox?: true } = {}) => toolCall({ tool: 'agents:run', needsSandbox: false, share: {}, waits: true, ...more });
const spent = { tokens: 1, steps: 1, workedMs: 1, costUsd: 0 };
const waitsForChild: World['tool'] = async () => ({ outcome: 'suspended', calls: [], waitsFor: ['conv_child'], sandboxTier: 'none' });

/** The turn of a conversation is interrupted while it waits for a sub-agent, which takes a while to close. */
async function interrupted(answer: Answer, limits: Parameters<Stage['start']>[1] = {}, more: Parameters<Stage['start']>[3] = {}): Promise<World> {
  const world = await stage.start(
    (made) => {
      made.answers.push(answer);
      made.tool = waitsForChild;
    },
    limits,
    true,
    more,
  );
  await world.untilAsked('agents:run');
  await until(
    async () => (await world.status()).runningCalls.length === 0,
    () => 'the call of the sub-agent is attached to',
  );
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  return world;
}

test('a conversation that closes by itself closes with the end of a sub-agent that closed after its turn', async () => {
  const call = gives();
  const world = await interrupted(asks(call), {}, { closeWhenDone: true });
  expect(world.asked('closeSubAgent')).toHaveLength(1);
  await world.handle.signal('subAgentEnded', { callId: call.callId, spent });
  await world.untilState('closed');
  await world.handle.result();
});

test('a sandbox that a sub-agent has made and left running is frozen, also when its conversation rests already', async () => {
  const call = gives({ sharesSandbox: true });
  const world = await interrupted(asks(call), { freezeAfterMs: 50 });
  await world.untilState('idle');
  expect(world.asked('freezeSandbox')).toEqual([]);
  await world.handle.signal('subAgentEnded', { callId: call.callId, spent, sandboxRuns: true });
  await world.untilAsked('freezeSandbox');
  expect(world.asked('freezeSandbox')).toMatchObject([{ mode: 'idle' }]);
});

test('a sandbox that was frozen under a sub-agent is hibernated when that has ended', async () => {
  const command = toolCall();
  const call = gives({ sharesSandbox: true });
  const world = await stage.start(
    (made) => {
      made.answers.push(asks(command), asks(call));
      made.tool = (args, own) =>
        args.tool === 'shell:run' ? Promise.resolve({ outcome: 'finished', isError: false, sandboxTier: 'running' }) : waitsForChild(args, own);
    },
    { freezeAfterMs: 20, hibernateAfterMs: 50 },
  );
  await world.untilAsked('freezeSandbox');
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  await world.untilState('idle');
  expect(world.asked('hibernateSandbox')).toEqual([]);
  await world.handle.signal('subAgentEnded', { callId: call.callId, spent });
  await world.untilAsked('hibernateSandbox');
});

test('a sandbox that could not be frozen while a sub-agent worked in it is frozen when that has ended', async () => {
  const command = toolCall();
  const call = gives({ sharesSandbox: true });
  const world = await stage.start(
    (made) => {
      made.answers.push(asks(command, call));
      made.tool = (args, own) =>
        args.tool === 'shell:run' ? Promise.resolve({ outcome: 'finished', isError: false, sandboxTier: 'running' }) : waitsForChild(args, own);
      made.broken.set('freezeSandbox', 'busy');
    },
    { freezeAfterMs: 50 },
  );
  await world.untilAsked('agents:run');
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  const before = world.asked('freezeSandbox').length;
  await world.untilAsked('freezeSandbox', before + 1);
  await world.untilState('idle');
  world.broken.clear();
  await world.handle.signal('subAgentEnded', { callId: call.callId, spent });
  await world.untilAsked('freezeSandbox', before + 2);
});

test('a sandbox that a sub-agent leaves running is frozen, also while its conversation has used up its budget', async () => {
  const call = gives({ sharesSandbox: true });
  const world = await stage.start(
    (made) => {
      made.answers.push(asks({ ...call, tool: 'agents:start' }));
      made.tool = async () => ({ outcome: 'finished', isError: false, started: 'conv_child', sandboxTier: 'none' });
    },
    { freezeAfterMs: 50, budget: { turns: 1 } },
  );
  await world.untilAsked('finishTurn');
  await world.send('again');
  await world.untilState('paused');
  await world.handle.signal('subAgentEnded', { callId: call.callId, spent, sandboxRuns: true });
  await world.untilAsked('freezeSandbox');
  expect(world.asked('freezeSandbox')).toMatchObject([{ mode: 'idle' }]);
  expect((await world.status()).state).toBe('paused');
});
