import type { AnswerCheck, ProposedCall } from '../../src/contracts/activities.ts';
import { Stage, toolCall, type Answer } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const usage = { inputTokens: 10, outputTokens: 5 };
const says = (answer: AnswerCheck, ...calls: ProposedCall[]): Answer => {
  return () => ({ outcome: 'answered', calls, usage, spoke: true, answer });
};
const fits: AnswerCheck = { outcome: 'fits' };
const refused = (message: string): AnswerCheck => ({ outcome: 'refused', message });

test('a turn ends with the step whose answer fits', async () => {
  const world = await stage.start((made) => made.answers.push(says({ outcome: 'pending' }, toolCall()), says(fits)));
  await world.untilAsked('finishTurn');
  const [, last] = world.asked('callModel');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'finished', answeredIn: last?.['stepId'] });
});

test('an answer that does not fit is repaired once, by a step that counts', async () => {
  const world = await stage.start((made) => made.answers.push(says(refused('no')), says(fits)), { budget: { steps: 5 } });
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel').map(({ repairs, step }) => [step, repairs])).toEqual([
    [0, undefined],
    [1, true],
  ]);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'finished', status: { tokensUsed: 30 } });
});

test('a second answer that does not fit fails the turn, and the conversation goes on', async () => {
  const world = await stage.start((made) => made.answers.push(says(refused('the first')), says(refused('the second')), says(fits)));
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'failed', message: 'the second', status: { tokensUsed: 30 } });
  expect(world.asked('finishTurn')[0]).not.toHaveProperty('answeredIn');
  await world.send('Again.');
  await world.untilAsked('finishTurn', 2);
  expect(world.asked('callModel')[2]).not.toHaveProperty('repairs');
  expect(world.asked('finishTurn')[1]).toMatchObject({ outcome: 'finished' });
});

test('calls that end other turns do not end one whose answer has to fit', async () => {
  const world = await stage.start((made) => made.answers.push(says({ outcome: 'pending' }, toolCall({ kind: 'behavior' })), says(fits)));
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel')).toHaveLength(2);
});

test('the budget of steps holds for a repair, too', async () => {
  const world = await stage.start((made) => made.answers.push(says(refused('no')), says(fits)), { budget: { steps: 1 } });
  await world.untilState('paused');
  expect(world.asked('callModel')).toHaveLength(1);
  await world.handle.signal('resume', { extraTurns: 1 });
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel')[1]).toMatchObject({ repairs: true });
});

test('a message that joins the turn gives it its schema, and a new chance of a repair', async () => {
  const world = await stage.start((made) => {
    made.answers.push(async () => {
      await made.send('Hurry.', { messageId: 'msg_join', whenBusy: 'steer', output: true });
      return { outcome: 'answered', calls: [], usage, spoke: true, answer: refused('the first') };
    });
    made.answers.push(says(refused('the second')), says(fits));
  });
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel').map(({ outputOf, repairs }) => [outputOf, repairs])).toEqual([
    [undefined, undefined],
    ['msg_join', undefined],
    ['msg_join', true],
  ]);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'finished' });
});

test('the schema of a message holds for its turn alone', async () => {
  const world = await stage.start((made) => made.answers.push(says(fits), says(fits)), {}, false);
  await world.send('One.', { messageId: 'msg_one', output: true });
  await world.untilAsked('finishTurn');
  await world.send('Two.');
  await world.untilAsked('finishTurn', 2);
  expect(world.asked('callModel').map(({ outputOf }) => outputOf)).toEqual(['msg_one', undefined]);
});

test('a schema that is typed into the Temporal UI is refused', async () => {
  const world = await stage.start(undefined, {}, false);
  const refusal = await world.send('Hi.', { output: { type: 'object' } }).catch((error: { cause?: Error }) => error.cause?.message);
  expect(refusal).toBe(
    'Message refused: it has an output, which is no part of a message typed here. Send it with the client, over HTTP or with the command line',
  );
});
