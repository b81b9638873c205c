import { ApplicationFailure } from '@temporalio/activity';
import type { JudgeCallResult } from '../../src/contracts/judging.ts';
import { asks, Stage, toolCall, until, type World } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const judged = (more: object = {}) => toolCall({ decision: 'ask', auto: true, why: 'rule 1', ...more });
const answer = (world: World, args: object): Promise<unknown> => world.handle.executeUpdate('resolveApproval', { args: [args] });
const usage = { inputTokens: 100, outputTokens: 20 };
const allow: JudgeCallResult = { verdict: 'allow', reason: 'It serves the user.', confidence: 0.9, usage };
const handOver: JudgeCallResult = { verdict: 'hand-over', reason: 'Not sure.', usage };
const eventsOf = (world: World) => world.asked('recordApproval').map(({ event }) => event);

/** A judge that answers when the test says so. */
function waitingJudge(verdict: JudgeCallResult) {
  let release = () => undefined as void;
  const released = new Promise<void>((resolve) => (release = resolve));
  return { release: () => release(), judge: async () => (await released, verdict) };
}

test('a call that the judge allows runs; no person is asked, and what the judge used counts', async () => {
  const call = judged();
  const world = await stage.start((made) => {
    made.judge = async () => allow;
    made.answers.push(asks(call), asks());
  });
  await world.untilAsked('finishTurn');
  expect(world.asked('judgeCall')).toEqual([
    { conversationId: world.conversationId, agentId: 'fixer', turnId: 'turn_first', stepId: expect.any(String), callId: call.callId, tool: 'shell:run' },
  ]);
  expect(eventsOf(world)).toEqual([{ type: 'resolved', answer: 'allow-once', by: 'judge', reason: 'It serves the user.' }]);
  expect(world.asked('shell:run')).toMatchObject([{ callId: call.callId, approved: true }]);
  expect(world.saved).toMatchObject({ tokensUsed: 30 + 120 });
});

test('a call that the judge hands over waits for a person, with the reason', async () => {
  const call = judged();
  const world = await stage.start((made) => {
    made.judge = async () => handOver;
    made.answers.push(asks(call), asks());
  });
  await world.untilAsked('recordApproval');
  expect(eventsOf(world)).toEqual([{ type: 'requested', why: 'rule 1. Handed over: Not sure.', expiresAtMs: 0 }]);
  expect(world.saved?.pendingApprovals).toMatchObject([{ callId: call.callId, why: 'rule 1. Handed over: Not sure.' }]);
  await answer(world, { callId: call.callId, hash: call.hash, answer: 'deny' });
  await world.untilAsked('finishTurn');
  expect(world.asked('settleCall')).toMatchObject([{ settlement: 'denied', message: 'Denied by an operator.' }]);
});

test.each([
  ['deny', []],
  ['allow-once', ['shell:run']],
])('a person who answers %s while the judge thinks has decided', async (given, ran) => {
  const call = judged();
  const { judge, release } = waitingJudge(given === 'deny' ? allow : handOver);
  const world = await stage.start((made) => {
    made.judge = judge;
    made.answers.push(asks(call), asks());
  });
  await world.untilAsked('judgeCall');
  await until(
    async () => world.saved?.pendingApprovals.length === 1,
    () => 'people do not see the call while the judge thinks',
  );
  await answer(world, { callId: call.callId, hash: call.hash, answer: given, by: 'ann' });
  release();
  await world.untilAsked('finishTurn');
  expect(eventsOf(world)).toMatchObject([{ type: 'resolved', answer: given, by: 'ann' }]);
  expect(
    world
      .names()
      .filter((name) => name.startsWith('shell:run'))
      .map((name) => name.split(' ')[0]),
  ).toEqual(ran);
});

test('a judge that fails hands over', async () => {
  const world = await stage.start((made) => {
    made.judge = async () => {
      throw ApplicationFailure.nonRetryable('broken');
    };
    made.answers.push(asks(judged()), asks());
  });
  await world.untilAsked('recordApproval');
  expect(eventsOf(world)).toMatchObject([{ type: 'requested', why: 'rule 1. Handed over: The judge could not be asked.' }]);
  expect(world.events).toContain('tool.judged');
});

test('interrupting the turn stops the judge, and nothing runs', async () => {
  const { judge, release } = waitingJudge(allow);
  const world = await stage.start((made) => {
    made.judge = judge;
    made.answers.push(asks(judged()), asks());
  });
  await world.untilAsked('judgeCall');
  await world.handle.signal('interrupt');
  release();
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted' });
  expect(world.asked('shell:run')).toEqual([]);
});

test('after calls in a row that were handed over, people are asked at once, until the user sends a message', async () => {
  const calls = [judged(), judged(), judged()];
  const world = await stage.start(
    (made) => {
      made.judge = async () => handOver;
      made.answers.push(...calls.map((call) => asks(call)), asks(), asks(judged()));
    },
    { judge: { handovers: 2 } },
  );
  for (const [index, { callId, hash }] of calls.entries()) {
    await world.untilAsked('recordApproval', 2 * index + 1);
    await answer(world, { callId, hash, answer: 'allow-once' });
  }
  await world.untilAsked('finishTurn');
  expect(world.asked('judgeCall')).toHaveLength(2);
  await world.send('Go on.');
  await world.untilAsked('judgeCall', 3);
});

test('without a person, what the judge allows runs, and the rest is denied', async () => {
  const [first, second] = [judged(), judged()];
  const world = await stage.start(
    (made) => {
      made.judge = async ({ callId }) => (callId === first.callId ? allow : handOver);
      made.answers.push(asks(first, second, toolCall({ decision: 'ask' })), asks());
    },
    { unattended: true },
  );
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run').map(({ callId }) => callId)).toEqual([first.callId]);
  expect(world.asked('settleCall').map(({ message }) => message)).toEqual([
    'Denied by policy: this conversation is unattended, and the judge has not allowed the call: Not sure.',
    'Denied: this conversation is unattended, so only calls that read and need no approval may run.',
  ]);
  expect(eventsOf(world).map((event) => (event as { type: string }).type)).toEqual(['resolved', 'resolved']);
});
