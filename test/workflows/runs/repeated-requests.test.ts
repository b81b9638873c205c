import { signalOnce } from '../../../src/client/temporal/signal-once.ts';
import { asks, Stage, toolCall, until, type World } from '../support.ts';
import { counted, finished, padding } from './long.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const keys = { byId: new Map() };
const signal = ({ conversationId }: World, signalName: string, requestId: string, args = {}) =>
  signalOnce(stage.client, { keys }, { workflowId: conversationId, signalName, args, requestId });
const runOf = async ({ handle }: World) => (await handle.describe()).runId;
/** Has a turn whose history is long, after which the conversation goes on in a new run. */
async function goOn(world: World, turns: number): Promise<void> {
  const before = await runOf(world);
  world.answers.push(asks(...counted(12).map(() => toolCall())));
  await world.send('Go on.');
  await world.untilAsked('finishTurn', turns);
  await until(
    async () => (await runOf(world)) !== before,
    () => 'there is no new run',
  );
}
const begin = () =>
  stage.start(
    (made) => {
      made.tool = async () => finished({ padding });
    },
    {},
    false,
  );

test('a signal that is repeated takes effect once, also when the conversation has gone on in new runs', async () => {
  const world = await begin();
  await signal(world, 'pause', 'req_pause', { note: 'Wait.' });
  await world.untilState('paused');
  await signal(world, 'resume', 'req_resume', { extraTurns: 1 });
  await world.untilState('idle');
  for (const turns of [1, 2]) {
    await goOn(world, turns);
    await signal(world, 'pause', 'req_pause', { note: 'Wait.' });
    expect(await world.status()).toMatchObject({ state: 'idle' });
  }
  await signal(world, 'pause', 'req_other');
  expect(await world.status()).toMatchObject({ state: 'paused' });
  await signal(world, 'resume', 'req_resume', { extraTurns: 1 });
  expect(await world.status()).toMatchObject({ state: 'paused' });
});

test('an interrupt that is repeated does not end a later turn', async () => {
  const world = await begin();
  await signal(world, 'interrupt', 'req_interrupt');
  await goOn(world, 1);
  let seen = false;
  world.tool = async () => {
    await signal(world, 'interrupt', 'req_interrupt');
    seen = true;
    return finished();
  };
  world.answers.push(asks(toolCall()));
  await world.send('And this.');
  await world.untilAsked('finishTurn', 2);
  expect([seen, world.asked('finishTurn').map(({ outcome }) => outcome)]).toEqual([true, ['finished', 'finished']]);
});

test('a rewind that is repeated is given its result, and does not take back what came after it', async () => {
  const world = await begin();
  const rewind = () => world.handle.executeUpdate('rewind', { args: [{ checkpointId: 'cp_1' }], updateId: 'req_rewind' });
  const first = await rewind();
  await goOn(world, 1);
  expect(await rewind()).toEqual(first);
  expect(world.asked('rewindConversation')).toHaveLength(1);
});

test('an answer that is repeated is given its result when its call has ended', async () => {
  const call = toolCall({ decision: 'ask' });
  const world = await begin();
  world.answers.push(asks(call));
  await world.send('Ask me.');
  await world.untilState('awaiting-approval');
  const answer = () =>
    world.handle.executeUpdate('resolveApproval', { args: [{ callId: call.callId, hash: call.hash, answer: 'allow-once' }], updateId: 'req_answer' });
  const first = await answer();
  await world.untilAsked('finishTurn', 1);
  await goOn(world, 2);
  expect(await answer()).toEqual(first);
});
