import { ApplicationFailure } from '@temporalio/activity';
import type { CallModelResult } from '../../src/contracts/activities.ts';
import { asks, Stage, toolCall, untilCancelled, type Answer } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const full: Answer = (): CallModelResult => ({ outcome: 'compact', reason: 'full' });
const tooLong: Answer = (): CallModelResult => ({ outcome: 'compact', reason: 'too-long' });

test('a prompt that is too long is compacted and the step tried again, which counts as one step', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call), full, tooLong, asks());
    world.compactions.push({ changed: true, usage: { inputTokens: 100, outputTokens: 20 } });
  });
  await world.untilAsked('finishTurn');
  expect(world.names()).toEqual([
    'callModel',
    `shell:run ${call.callId}`,
    'callModel',
    'compactContext',
    'callModel',
    'compactContext',
    'callModel',
    'finishTurn',
  ]);
  expect(world.asked('callModel').map(({ step, compactions }) => [step, compactions])).toEqual([
    [0, 0],
    [1, 0],
    [1, 1],
    [1, 2],
  ]);
  expect(world.asked('compactContext')).toMatchObject([
    { reason: 'full', before: 0, turnId: 'turn_first' },
    { reason: 'too-long', before: 1 },
  ]);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'finished', status: { tokensUsed: 150 } });
});

test('when nothing more can be left out, the model is called as it is', async () => {
  const world = await stage.start((world) => {
    world.answers.push(full, asks());
    world.compactions.push({ changed: false });
  });
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel').map(({ compactions }) => compactions)).toEqual([0, 5]);
});

test('an interrupt ends a compaction', async () => {
  const world = await stage.start((world) => {
    world.answers.push(full);
    world.compact = async () => {
      await untilCancelled({} as never);
      throw ApplicationFailure.nonRetryable('unreachable');
    };
  });
  await world.untilAsked('compactContext');
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted' });
});

test('an operator compacts while the conversation waits, and before the next step of a turn', async () => {
  const world = await stage.start((world) => world.answers.push(asks()));
  await world.untilState('idle');
  await world.handle.signal('compact');
  await world.untilAsked('compactContext');
  expect(world.asked('compactContext')[0]).toMatchObject({ reason: 'operator', before: 0 });
  expect(world.asked('compactContext')[0]).not.toHaveProperty('turnId');
  const call = toolCall();
  world.answers.push(async () => {
    await world.handle.signal('compact', { undo: true });
    return asks(call)({} as never);
  }, asks());
  await world.send('Go on.');
  await world.untilAsked('finishTurn', 2);
  const names = world.names();
  expect(names.slice(names.indexOf('compactContext') + 1)).toEqual(
    expect.arrayContaining(['callModel', `shell:run ${call.callId}`, 'restoreContext', 'callModel', 'finishTurn']),
  );
});

test('what an operator asks in vain becomes a note and fails nothing', async () => {
  const world = await stage.start((world) => {
    world.answers.push(asks());
    world.compactions.push({ changed: false });
  });
  await world.untilState('idle');
  await world.handle.signal('compact');
  await world.untilAsked('compactContext');
  await world.untilAsked('saveStatus');
  world.broken.set('restoreContext', 'broken');
  await world.handle.signal('compact', { undo: true });
  await world.untilAsked('restoreContext');
  await world.close();
  expect(world.events.filter((type) => type === 'note')).toHaveLength(2);
  expect(world.saved).toMatchObject({ state: 'closed' });
});
