import { WorkflowFailedError } from '@temporalio/client';
import { rootCause } from '@temporalio/common';
import { asks, Stage } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const scheduledBy = { scheduleId: 'nightly', at: '2026-01-01T06:00:00.000Z' };

test('a run asks for one conversation, by the time that it was due, and ends', async () => {
  const handle = await stage.runSchedule({ agent: 'fixer', user: 'user', message: 'Report.' }, new Date(scheduledBy.at));
  expect(await handle.result()).toEqual({ conversationId: 'conv_nightly-20260101T060000Z' });
  expect(stage.scheduled).toEqual([{ agent: 'fixer', user: 'user', tenant: 'default', message: 'Report.', keepOpen: false, scheduledBy }]);
});

const fix = 'Correct it in the Temporal UI, or make the schedule again';
test.each([
  ['no object', 'Report.', `input of the schedule: "agent" is no text of 1 to 200 characters. ${fix}`],
  ['no message', { agent: 'fixer', user: 'user' }, `input of the schedule: "message" is no text of 1 to 16384 characters. ${fix}`],
  ['a number for a user', { agent: 'fixer', user: 7, message: 'x' }, `input of the schedule: "user" is no text of 1 to 200 characters. ${fix}`],
])('an input that was edited to %s fails its run and says what to fix', async (_name, input, message) => {
  expect(await problemOf(stage.runSchedule(input))).toBe(message);
});

test('without a schedule behind it, a run is refused', async () => {
  const message = 'scheduledConversation: no schedule has started it. Start conversations with: longshore run';
  expect(await problemOf(stage.runSchedule({}, 'by hand'))).toBe(message);
});

test('a conversation that is to close when it is done answers all that it was sent first, and tells where it comes from all the while', async () => {
  const world = await stage.start(
    (world) => {
      world.answers.push(async () => {
        await world.send('one more');
        return { outcome: 'answered', calls: [], usage: { inputTokens: 1, outputTokens: 1 }, spoke: true };
      }, asks());
    },
    {},
    true,
    { scheduledBy, closeWhenDone: true },
  );
  await world.handle.result();
  expect(world.asked('finishTurn')).toMatchObject([{ outcome: 'finished' }, { outcome: 'finished' }]);
  expect(world.asked('destroySandbox')).toHaveLength(1);
  expect(world.saved).toMatchObject({ state: 'closed', turnsUsed: 2 });
  for (const status of world.statuses) expect(status).toMatchObject({ scheduledBy });
});

test('one that has not been sent anything, or is paused, waits before it closes', async () => {
  const empty = await stage.start(undefined, {}, false, { closeWhenDone: true });
  await empty.handle.signal('pause');
  await empty.untilState('paused');
  await empty.send('Begin.');
  expect(await empty.status()).toMatchObject({ state: 'paused', queued: 1 });
  await empty.handle.signal('resume');
  await empty.handle.result();
  expect(empty.asked('finishTurn')).toMatchObject([{ outcome: 'finished' }]);
});

async function problemOf(started: Promise<{ result(): Promise<unknown> }>): Promise<string> {
  const error: unknown = await (await started).result().catch((error: unknown) => error);
  return (error instanceof WorkflowFailedError && rootCause(error.cause)) || '';
}
