import { asks, followCommand, Stage, toolCall, until, untilCancelled, type World } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** Waits until the workflow has worked on the result of an activity. */
async function untilAnswered(world: World, activity: string): Promise<void> {
  await until(
    async () => {
      const { events } = await world.handle.fetchHistory();
      const scheduled = (events ?? []).find(({ activityTaskScheduledEventAttributes: task }) => task?.activityType?.name === activity)?.eventId;
      const ended = (events ?? []).findIndex(({ activityTaskCompletedEventAttributes: task }) => task?.scheduledEventId?.toString() === scheduled?.toString());
      return scheduled !== undefined && ended >= 0 && (events ?? []).slice(ended).some((event) => event.workflowTaskCompletedEventAttributes);
    },
    () => world.names().join(', '),
  );
}

test('the first model call of a turn accepts its message, with the status of the running turn', async () => {
  const world = await stage.start();
  await world.untilAsked('finishTurn');
  expect(world.names()).toEqual(['callModel', 'finishTurn']);
  expect(world.asked('callModel')[0]).toMatchObject({
    accepts: { messages: [{ messageId: 'msg_first', steers: false }], status: { state: 'running', turnId: 'turn_first', queued: 0 } },
  });
  await world.send('again');
  await world.untilAsked('finishTurn', 2);
  expect(world.names()).toEqual(['callModel', 'finishTurn', 'callModel', 'finishTurn']);
});

test('only the step that follows a message accepts it', async () => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks()));
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel').map(({ accepts }) => accepts !== undefined)).toEqual([true, false]);
});

test('a message whose model call is ended before it could accept it is accepted before the turn ends', async () => {
  const world = await stage.start((world) => {
    world.acceptsNothing = true;
    world.answers.push(untilCancelled);
  });
  await world.untilAsked('callModel');
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  expect(world.names().slice(-2)).toEqual(['acceptMessage', 'finishTurn']);
  expect(world.accepted).toEqual([{ turnId: 'turn_first', messageId: 'msg_first', steers: false }]);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted' });
});

test('an interrupt that comes with the message leaves nothing out', async () => {
  const world = await stage.start(() => undefined, {}, false);
  await Promise.all([world.send('first'), world.send('second', { whenBusy: 'interrupt' }), world.handle.signal('interrupt')]);
  await until(
    async () => world.accepted.length === 2 && world.saved?.state === 'idle',
    () => world.names().join(', '),
  );
  expect(new Set(world.accepted.map(({ text }) => text))).toEqual(new Set(['first', 'second']));
});

test('a status that is saved during the model call comes after the message, and is not replaced by that of the call', async () => {
  const world = await stage.start((world) => {
    world.acceptsNothing = true;
    world.answers.push(untilCancelled);
  });
  await world.untilAsked('callModel');
  await world.send('waits');
  await world.untilAsked('acceptMessage');
  await until(
    async () => world.saved?.queued === 1,
    () => `queued: ${world.saved?.queued}`,
  );
  expect(world.accepted).toEqual([{ turnId: 'turn_first', messageId: 'msg_first', steers: false }]);
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn', 2);
  expect(world.accepted.map(({ text }) => text)).toEqual([undefined, 'waits']);
});

test('a pause before the first step comes after the message', async () => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall())), {}, false);
  await world.handle.signal('pause');
  await world.untilState('paused');
  await world.send('go');
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn');
  expect(world.accepted).toHaveLength(1);
});

test('a message for which the budget has no step is accepted, and the turn waits', async () => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks()), { budget: { steps: 1 } });
  await world.untilState('paused');
  expect(world.accepted).toHaveLength(1);
  await world.send('more', { whenBusy: 'steer' });
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn');
  expect(world.accepted.map(({ text, steers }) => [text, steers])).toEqual([
    [undefined, false],
    ['more', true],
  ]);
});

test('a model call that cannot accept the message now leaves it to the activity that is tried without an end, and is no step', async () => {
  const world = await stage.start((world) => (world.hindered = 1));
  await world.untilAsked('finishTurn');
  expect(world.names()).toEqual(['callModel', 'acceptMessage', 'callModel', 'finishTurn']);
  expect(world.asked('callModel').map(({ step, accepts }) => [step, accepts !== undefined])).toEqual([
    [0, true],
    [0, false],
  ]);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'finished' });
});

test('a message that a worker of an earlier version did not accept is read by the next step', async () => {
  const world = await stage.start((world) => (world.acceptsNothing = true));
  await world.untilAsked('callModel', 2);
  expect(world.names()).toEqual(['callModel', 'acceptMessage', 'callModel']);
  await world.untilAsked('finishTurn');
  expect(world.accepted).toHaveLength(1);
});

test('a model call that fails without its message, in a worker of an earlier version, does not fail the turn', async () => {
  const world = await stage.start((world) => {
    world.acceptsNothing = true;
    world.answers.push(async () => ({ outcome: 'failed', code: 'MODEL_FAILED', message: 'there is no message' }));
  });
  await world.untilAsked('finishTurn');
  expect(world.names()).toEqual(['callModel', 'acceptMessage', 'callModel', 'finishTurn']);
  expect(world.asked('callModel').map(({ step, accepts }) => [step, accepts !== undefined])).toEqual([
    [0, true],
    [0, false],
  ]);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'finished' });
});

test('a message that joins the turn is accepted by the model call that reads it, when nothing is being saved', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.send('left', { whenBusy: 'steer' });
  await untilAnswered(world, 'saveStatus');
  world.commands.get(call.callId)!.state = 'ended';
  await world.untilAsked('finishTurn');
  expect(world.accepted.map(({ steers }) => steers)).toEqual([false, true]);
  expect(world.asked('acceptMessage')).toEqual([]);
});
