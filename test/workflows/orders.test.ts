import { WorkflowUpdateStage } from '@temporalio/client';
import { deferred } from '../../src/common/deferred.ts';
import { asks, Stage, suspendedBy, toolCall, until, type World } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const asked = (more: object = {}) => toolCall({ decision: 'ask', why: 'rule 2 asks', ...more });
const timers = async ({ handle }: World) => (await handle.fetchHistory()).events?.filter(({ timerStartedEventAttributes: timer }) => timer).length;
const rewind = (world: World) =>
  world.handle.startUpdate('rewind', { args: [{ checkpointId: 'cp_1' }], waitForStage: WorkflowUpdateStage.ACCEPTED }).then((update) => update.result());

test('an approval of code that expires while an answer to it is being recorded waits for that without timers', async () => {
  const [call, method] = [toolCall(), asked()];
  const edited = deferred<void>();
  const world = await stage.start(
    (made) => {
      made.answers.push(asks(call));
      made.tool = suspendedBy(call.callId, [method]);
      made.edit = edited.promise.then(() => ({ outcome: 'edited', hash: 'edited' }));
    },
    { approvalTimeoutMs: 1_000 },
  );
  await world.untilState('awaiting-approval');
  const { expiresAtMs } = world.saved!.pendingApprovals[0]!;
  const answer = { callId: method.callId, hash: method.hash, answer: 'allow-once', editedArguments: { command: 'ls' } };
  const answered = world.handle.executeUpdate('resolveApproval', { args: [answer] });
  await world.untilAsked('editArguments');
  await until(
    async () => Date.now() > expiresAtMs + 500,
    () => 'the time of the approval is not over',
  );
  edited.resolve();
  await answered;
  await world.untilAsked('finishTurn');
  expect(await timers(world)).toBe(1);
  expect(world.asked('shell:run').map(({ callId, hash }) => [callId, hash])).toContainEqual([method.callId, 'edited']);
});

test('a sandbox that a rewind has woken during a pause goes to rest again', async () => {
  const world = await stage.start((made) => made.answers.push(asks(toolCall())), { freezeAfterMs: 50 });
  await world.untilAsked('finishTurn');
  await world.handle.signal('pause');
  await world.untilState('paused');
  await until(
    async () => world.saved?.sandboxTier === 'frozen',
    () => 'not frozen',
  );
  await rewind(world);
  await world.untilAsked('freezeSandbox', 2);
  await until(
    async () => world.saved?.sandboxTier === 'frozen' && world.saved.state === 'paused',
    () => `${world.saved?.state}, ${world.saved?.sandboxTier}`,
  );
});

test('the context is compacted after a rewind that is under way', async () => {
  const order: string[] = [];
  const goOn = deferred<void>();
  const world = await stage.start((made) => {
    made.compact = async () => (order.push('compacted'), { changed: true });
    made.rewind = async () => {
      await goOn.promise;
      order.push('rewound');
    };
  });
  await world.untilAsked('finishTurn');
  const rewound = rewind(world);
  await world.untilAsked('rewindConversation');
  await world.handle.signal('compact');
  await world.status();
  // It pauses when it is not busy with the context.
  await world.handle.signal('pause');
  await world.untilState('paused');
  goOn.resolve();
  await rewound;
  await world.handle.signal('resume');
  await world.untilAsked('compactContext');
  expect(order).toEqual(['rewound', 'compacted']);
});

test('a rewind waits for a compaction that is under way', async () => {
  const order: string[] = [];
  const goOn = deferred<void>();
  const world = await stage.start((made) => {
    made.compact = async () => {
      await goOn.promise;
      order.push('compacted');
      return { changed: true };
    };
    made.rewind = async () => void order.push('rewound');
  });
  await world.untilAsked('finishTurn');
  await world.handle.signal('compact');
  await world.untilAsked('compactContext');
  const update = await world.handle.startUpdate('rewind', { args: [{ checkpointId: 'cp_1' }], waitForStage: WorkflowUpdateStage.ACCEPTED });
  await world.status();
  goOn.resolve();
  await update.result();
  expect(order).toEqual(['compacted', 'rewound']);
});

test('a conversation that is closed during a rewind keeps its sandbox stopped', async () => {
  const goOn = deferred<void>();
  const before: string[] = [];
  const world = await stage.start(
    (made) => {
      made.answers.push(asks(toolCall()));
      made.rewind = async () => {
        await goOn.promise;
        before.push(...made.names());
      };
    },
    { onClose: 'keep' },
  );
  await world.untilAsked('finishTurn');
  const rewound = rewind(world);
  await world.untilAsked('rewindConversation');
  await world.handle.signal('close');
  await world.untilState('closing');
  await until(
    async () => {
      const { pendingActivities, pendingWorkflowTask } = (await world.handle.describe()).raw;
      return !pendingWorkflowTask && pendingActivities?.length === 1 && pendingActivities[0]?.activityType?.name === 'rewindConversation';
    },
    () => 'it does not wait for the rewind alone',
  );
  goOn.resolve();
  await rewound;
  await world.handle.result();
  expect(before).not.toContain('stopSandbox');
  expect(world.saved).toMatchObject({ state: 'closed', sandboxTier: 'stopped' });
  expect(world.names().at(-1)).toBe('saveStatus');
});

test('an answer that is being recorded when its turn is ended counts, and its caller learns that', async () => {
  const stored = deferred<void>();
  const [call, other] = [asked(), asked({ tool: 'files:write' })];
  const world = await stage.start((made) => {
    made.answers.push(asks(call, other), asks());
    made.edit = stored.promise.then(() => ({ outcome: 'edited', hash: 'edited' }));
  });
  await world.untilState('awaiting-approval');
  const args = { callId: call.callId, hash: call.hash, answer: 'allow', by: 'ann', editedArguments: { command: 'ls' } };
  const answered = world.handle.executeUpdate('resolveApproval', { args: [args] });
  await world.untilAsked('editArguments');
  await world.handle.signal('interrupt');
  await world.untilAsked('recordApproval', 3);
  stored.resolve();
  await expect(answered).resolves.toEqual({ callId: call.callId, answer: 'allow' });
  await world.untilAsked('finishTurn');
  expect(world.saved?.allowedTools).toMatchObject([{ tool: 'shell:run', by: 'ann' }]);
  expect(world.asked('settleCall')).toMatchObject([{ settlement: 'interrupted' }, { settlement: 'interrupted' }]);
});

/** The edit of a call is being checked when its turn is interrupted, and is refused then. */
async function editTooLate(world: World, { callId, hash }: ReturnType<typeof toolCall>, refuse: () => void): Promise<void> {
  await world.untilState('awaiting-approval');
  const args = { callId, hash, answer: 'allow-once', editedArguments: { command: 7 } };
  const answered = world.handle.executeUpdate('resolveApproval', { args: [args] }).catch((error: unknown) => error);
  await world.untilAsked('editArguments');
  await world.handle.signal('interrupt');
  await world.status();
  refuse();
  expect(await answered).toMatchObject({ cause: { type: 'TOOL_ARGUMENTS_INVALID' } });
  await world.untilAsked('finishTurn');
  expect(world.asked('recordApproval').map(({ event }) => event)).toMatchObject([{ type: 'requested' }, { type: 'resolved', answer: 'deny' }]);
}

test('an edit of a call of code that is refused when its turn has ended leaves an approval that is withdrawn', async () => {
  const refused = deferred<void>();
  const [call, method] = [toolCall(), asked()];
  const world = await stage.start((made) => {
    made.answers.push(asks(call));
    made.tool = suspendedBy(call.callId, [method]);
    made.edit = refused.promise.then(() => ({ outcome: 'invalid', message: '/command: expected string' }));
  });
  await editTooLate(world, method, refused.resolve);
});

test('a pause now that waits for the end of a turn after which a new run begins freezes the sandbox', async () => {
  const goOn = deferred<void>();
  const world = await stage.start((made) => made.answers.push(asks(toolCall()), async (args) => goOn.promise.then(() => asks()(args))));
  await world.untilAsked('callModel', 2);
  const first = (await world.handle.describe()).runId;
  // Temporal suggests a new run for a history of 4 MiB.
  const much = 'x'.repeat(1_500_000);
  for (const name of ['newVersion', 'newVersion', 'newVersion', 'pause']) await world.handle.signal(name, { much, mode: 'now' });
  await world.status();
  goOn.resolve();
  await until(
    async () => (await world.handle.describe()).runId !== first,
    () => 'no new run has begun',
  );
  expect(world.asked('freezeSandbox')).toMatchObject([{ mode: 'pause' }]);
  expect(await world.status()).toMatchObject({ state: 'paused', sandboxTier: 'frozen' });
});

test('an edit that is refused when its turn has ended leaves an approval that is withdrawn', async () => {
  const refused = deferred<void>();
  const call = asked();
  const world = await stage.start((made) => {
    made.answers.push(asks(call), asks());
    made.edit = refused.promise.then(() => ({ outcome: 'invalid', message: '/command: expected string' }));
  });
  await editTooLate(world, call, refused.resolve);
});

test('approvals of code with long arguments, more than fit into one payload, are all asked about', async () => {
  const call = toolCall();
  const methods = () => Array.from({ length: 90 }, () => asked({ arguments: { content: 'x'.repeat(15_000) } }));
  const batches = [methods(), methods()];
  const world = await stage.start((made) => {
    made.answers.push(asks(call));
    made.tool = async () => ({ outcome: 'suspended', calls: batches.shift() ?? [], sandboxTier: 'running' });
  });
  const all = until(
    async () => world.saved?.pendingApprovals.length === 180,
    () => `${world.saved?.pendingApprovals.length} approvals`,
  );
  await Promise.race([all, world.handle.result()]);
  expect((await world.status()).state).toBe('awaiting-approval');
});
