import { asks, Stage, toolCall, type ToolScript } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** A tool whose note asks for a turn; a second attempt asks again. */
const wakes: ToolScript = async ({ callId }, { handle }) => {
  await handle.signal('wake', { callId });
  await handle.signal('wake', { callId });
  return { outcome: 'finished', isError: false, sandboxTier: 'running' };
};

test('a note that wakes sets off one turn where its own ends without a step that reads it, however often its call asks', async () => {
  const call = toolCall({ kind: 'behavior' });
  const world = await stage.start((world) => {
    world.answers.push(asks(call));
    world.tool = wakes;
  });
  await world.untilAsked('finishTurn', 2);
  await world.handle.signal('wake', { callId: call.callId });
  const { turnId } = await world.send('And now?');
  await world.untilAsked('finishTurn', 3);
  const [first, second, third] = world.asked('finishTurn');
  expect(world.asked('callModel').map((asked) => asked['turnId'])).toEqual([first?.['turnId'], second?.['turnId'], turnId]);
  expect(third).toMatchObject({ turnId, outcome: 'finished' });
  expect(world.accepted).toHaveLength(2);
  const started = world.asked('saveStatus').flatMap(({ events }) => events as { type: string; turnId: string; data: object }[]);
  expect(started.filter(({ type }) => type === 'turn.started')).toEqual([{ type: 'turn.started', turnId: second?.['turnId'], data: { wokenBy: call.callId } }]);
});

test('a note that the next step of its turn reads sets off no other turn, nor one that the next message reads', async () => {
  const world = await stage.start((world) => {
    world.answers.push(asks(toolCall()), asks(toolCall({ kind: 'behavior' })));
    world.tool = async (args, world) => {
      if (world.asked('callModel').length === 2) await world.send('next');
      return wakes(args, world);
    };
  });
  await world.untilAsked('finishTurn', 2);
  await world.send('last');
  await world.untilAsked('finishTurn', 3);
  expect(world.asked('callModel')).toHaveLength(4);
});

test('an operator wakes an idle conversation, and a turn that is ended takes the wish with it', async () => {
  const world = await stage.start(undefined, {}, false);
  await world.handle.signal('wake');
  await world.untilAsked('finishTurn');
  expect(world.accepted).toEqual([]);
  world.answers.push(asks(toolCall({ kind: 'behavior' })));
  world.tool = async (args, world) => {
    await world.handle.signal('wake', { callId: args.callId });
    await world.handle.signal('interrupt');
    return wakes({ ...args, callId: 'call_later' }, world);
  };
  await world.send('go');
  await world.untilAsked('finishTurn', 2);
  await world.send('on');
  await world.untilAsked('finishTurn', 3);
  expect(world.asked('finishTurn').map(({ outcome }) => outcome)).toEqual(['finished', 'interrupted', 'finished']);
  expect(world.asked('callModel')).toHaveLength(3);
});

test('a budget that ran out holds the turn of a note until one is granted', async () => {
  const world = await stage.start(
    (world) => {
      world.answers.push(asks(toolCall({ kind: 'behavior' })));
      world.tool = wakes;
    },
    { budget: { turns: 1 } },
  );
  await world.untilState('paused');
  expect(world.saved).toMatchObject({ queued: 1, turnsUsed: 1 });
  await world.handle.signal('resume', { extraTurns: 1 });
  await world.untilAsked('finishTurn', 2);
});
