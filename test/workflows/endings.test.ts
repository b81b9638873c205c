import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure, WorkflowFailedError } from '@temporalio/client';
import { deferred } from '../../src/common/deferred.ts';
import { asks, followCommand, Stage, toolCall, until } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

test('closing interrupts what runs, drops what waits, and destroys the sandbox', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  const { turnId } = await world.send('too late');
  await world.close();
  expect(world.asked('interruptCall')).toMatchObject([{ callId: call.callId }]);
  expect(world.asked('finishTurn')).toMatchObject([{ outcome: 'interrupted' }]);
  expect(world.asked('saveStatus').flatMap(({ events }) => events as object[])).toEqual([
    { type: 'turn.finished', turnId, data: { outcome: 'cancelled' } },
    { type: 'conversation.closed', data: {} },
  ]);
  expect(world.asked('destroySandbox')).toHaveLength(1);
  expect(world.statuses.map(({ state }) => state).slice(-2)).toEqual(['closing', 'closed']);
});

test('a conversation that ends takes no message, no revocation and no rewind any more', async () => {
  const ended = deferred<void>();
  const world = await stage.start((world) => {
    world.answers.push(asks(toolCall()));
    world.tool = async () => {
      await ended.promise;
      return { outcome: 'interrupted', sandboxTier: 'running' };
    };
  });
  await world.untilAsked('shell:run');
  await world.handle.signal('close');
  const closed = { cause: { type: 'CONVERSATION_CLOSED' } };
  await expect(world.send('too late')).rejects.toMatchObject(closed);
  await expect(world.handle.executeUpdate('revokeAllowedTool', { args: [{ tool: 'shell:run' }] })).rejects.toMatchObject(closed);
  await expect(world.handle.executeUpdate('rewind', { args: [{ checkpointId: 'cp_1' }] })).rejects.toMatchObject(closed);
  ended.resolve(undefined);
  await world.handle.result();
  expect(world.saved?.state).toBe('closed');
});

test('an agent may keep its sandbox: it is stopped, and its files stay', async () => {
  const world = await stage.start(undefined, { onClose: 'keep' });
  await world.close();
  expect(world.asked('destroySandbox')).toEqual([]);
  expect(world.saved).toMatchObject({ state: 'closed', sandboxTier: 'stopped' });
});

test('an agent may have its sandbox destroyed after every turn, once the turn is told to be over', async () => {
  const world = await stage.start(undefined, { persist: false });
  await world.untilAsked('destroySandbox');
  expect(world.names().indexOf('finishTurn')).toBeLessThan(world.names().indexOf('destroySandbox'));
  await until(
    async () => world.saved?.sandboxTier === 'destroyed',
    () => 'the tier is not told',
  );
  await world.close();
});

test('a paused conversation can be closed', async () => {
  const world = await stage.start(undefined, {}, false);
  await world.handle.signal('pause');
  await world.untilState('paused');
  await world.close();
  expect(world.saved?.state).toBe('closed');
});

test('a conversation that awaits an approval can be closed', async () => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall({ decision: 'ask' }))));
  await world.untilState('awaiting-approval');
  await world.close();
  expect(world.saved).toMatchObject({ state: 'closed', pendingApprovals: [] });
});

test('cancelling the workflow cleans up as closing does', async () => {
  const world = await stage.start((world) => {
    world.answers.push(asks(toolCall()));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.handle.cancel();
  const failure: unknown = await world.handle.result().catch((error: unknown) => error);
  expect((failure as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure);
  expect(world.asked('destroySandbox')).toHaveLength(1);
  expect(world.saved?.state).toBe('closed');
});

test('a permanent failure still leaves no sandbox behind', async () => {
  const world = await stage.start((world) => world.broken.set('finishTurn', 'the conversation is unknown'));
  await expect(world.handle.result()).rejects.toThrow(WorkflowFailedError);
  expect(world.asked('destroySandbox')).toHaveLength(1);
  expect(world.saved?.state).toBe('closed');
});

test('a sandbox that cannot be destroyed for good does not keep the conversation open', async () => {
  const world = await stage.start((world) => world.broken.set('destroySandbox', 'gone'));
  await world.close();
  expect(world.saved?.state).toBe('closed');
});

test('a long history goes on in a fresh run, and nothing is forgotten', async () => {
  const call = toolCall({ decision: 'ask' });
  const world = await stage.start((world) => world.answers.push(asks(call), asks(), asks(toolCall({ decision: 'ask' })), asks()));
  await world.untilState('awaiting-approval');
  await world.handle.executeUpdate('resolveApproval', { args: [{ callId: call.callId, hash: call.hash, answer: 'allow' }] });
  await world.untilAsked('finishTurn');
  const { runId } = await world.handle.describe();
  // Temporal suggests a fresh run at 4 MiB.
  const moved = async () => (await world.handle.describe()).runId !== runId;
  for (let sent = 0; sent < 40 && !(await moved()); sent++) await world.handle.signal('stopAfterStep', 'x'.repeat(400_000));
  await until(moved, () => 'no fresh run');
  expect(await world.handle.executeUpdate('sendMessage', { args: [{ messageId: 'msg_first' }] })).toEqual({ turnId: 'turn_first', duplicate: true });
  await world.send('again');
  await world.untilAsked('finishTurn', 2);
  // The tool was allowed for good in the first run.
  expect(world.asked('shell:run')).toHaveLength(2);
  expect(world.saved).toMatchObject({ turnsUsed: 2, tokensUsed: 60, state: 'idle', sandboxTier: 'running' });
});

test('a turn ends within its workflow task, and takes no activity for that', async () => {
  const world = await stage.start();
  await world.untilState('idle');
  await world.send('second');
  await world.untilAsked('finishTurn', 2);
  await world.close();
  expect(world.endings).toEqual(['local', 'local']);
  const { events } = await world.handle.fetchHistory();
  const scheduled = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: activity }) => activity?.activityType?.name ?? []);
  expect(scheduled.filter((name) => name !== 'saveStatus')).toEqual(['callModel', 'callModel', 'destroySandbox']);
});

const failing = (failure: () => Error) => async () => {
  throw failure();
};

test.each([
  ['fails', failing(() => ApplicationFailure.create({ message: 'the database is away' })), 3],
  ['fails for good', failing(() => ApplicationFailure.nonRetryable('the database is away')), 1],
  ['ends as cancelled, although its cancellation was not requested', failing(() => new CancelledFailure('the worker ends')), 3],
  ['takes too long', async () => void (await Context.current().cancelled), 2],
])('a local end of a turn that %s is followed by an activity that ends the same turn', async (_what, endsLocally, attempts) => {
  const world = await stage.start((made) => (made.endsLocally = endsLocally));
  await until(
    async () => world.endings.includes('activity'),
    () => `the end was asked for as ${world.endings.join(', ')}`,
  );
  expect(world.endings).toEqual([...Array.from({ length: attempts }, () => 'local'), 'activity']);
  const [first, ...others] = world.asked('finishTurn');
  expect(first).toMatchObject({ turnId: 'turn_first', eventsOf: 'turn', outcome: 'finished' });
  for (const other of others) expect(other).toEqual(first);
  world.endsLocally = async () => undefined;
  await world.send('another');
  await until(
    async () => world.endings.length === attempts + 2,
    () => 'the next turn did not end',
  );
  expect(world.endings.at(-1)).toBe('local');
  await world.close();
});

test('a conversation that is cancelled while its turn ends closes after that end', async () => {
  const ended = deferred<void>();
  const world = await stage.start((made) => (made.endsLocally = () => ended.promise));
  await world.untilAsked('finishTurn');
  await world.handle.cancel();
  ended.resolve(undefined);
  const failure: unknown = await world.handle.result().catch((error: unknown) => error);
  expect((failure as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure);
  expect(world.endings).toEqual(['local']);
  expect(world.saved?.state).toBe('closed');
});
