import { asks, followCommand, Stage, toolCall, until } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

test('a pause waits for the running step, and messages sent meanwhile wait for the resume', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.handle.signal('pause', { note: 'lunch' });
  expect((await world.status()).state).toBe('running');
  world.commands.get(call.callId)!.state = 'ended';
  await world.untilState('paused');
  expect(world.saved).toMatchObject({ paused: { by: 'operator', note: 'lunch' } });
  await world.send('waits');
  await until(
    async () => world.saved?.queued === 1,
    () => 'the waiting message is not in the status',
  );
  expect(world.asked('callModel')).toHaveLength(1);
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn', 2);
  expect(world.events).toEqual(['conversation.paused', 'conversation.resumed']);
  expect(world.asked('freezeSandbox')).toEqual([]);
});

test('a pause now freezes the running command and detaches from it; resume attaches to the same call again', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.handle.signal('pause', { mode: 'now' });
  await world.untilState('paused');
  await until(
    async () => world.saved?.sandboxTier === 'frozen',
    () => `tier ${world.saved?.sandboxTier}`,
  );
  expect((await world.status()).runningCalls).toEqual([]);
  await world.handle.signal('resume');
  await until(
    async () => world.commands.get(call.callId)?.attaches === 2,
    () => 'not attached again',
  );
  world.commands.get(call.callId)!.state = 'ended';
  await world.untilAsked('finishTurn');
  expect(world.asked('wakeSandbox')).toHaveLength(1);
  expect(world.asked('shell:run').map(({ callId, hash }) => [callId, hash])).toEqual([
    [call.callId, call.hash],
    [call.callId, call.hash],
  ]);
  expect(world.asked('settleCall')).toEqual([]);
});

test('a pause now lets calls outside the sandbox finish first', async () => {
  const host = toolCall({ needsSandbox: false, tool: 'web:get', retry: 'once' });
  const world = await stage.start((world) => {
    world.answers.push(asks(host, toolCall()), asks());
    world.tool = (args, world) =>
      args.tool === 'web:get' ? followCommand(args, world) : Promise.resolve({ outcome: 'finished', isError: false, sandboxTier: 'running' });
  });
  await world.untilAsked('web:get');
  await world.handle.signal('pause', { mode: 'now' });
  await world.status();
  world.commands.get(host.callId)!.state = 'ended';
  await world.untilState('paused');
  expect(world.asked('web:get')).toHaveLength(1);
  expect(world.asked('shell:run')).toEqual([]);
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn');
});

test('a paused command that is interrupted is ended in its sandbox; the conversation stays paused', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.handle.signal('pause', { mode: 'now' });
  await world.untilState('paused');
  await world.send('next', { whenBusy: 'interrupt' });
  await world.untilAsked('finishTurn');
  expect(world.asked('interruptCall')).toMatchObject([{ callId: call.callId }]);
  // The executor came back for what the command had said, and stored it.
  expect(world.commands.get(call.callId)).toMatchObject({ attaches: 2, state: 'killed' });
  expect(world.asked('settleCall')).toEqual([]);
  expect(world.saved).toMatchObject({ state: 'paused', queued: 1 });
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn', 2);
});

test('pausing an idle conversation holds the next message', async () => {
  const world = await stage.start(undefined, {}, false);
  await world.handle.signal('pause');
  await world.untilState('paused');
  await world.send('waits');
  expect(world.accepted).toEqual([]);
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn');
});

test('signals with arguments that make no sense do no harm', async () => {
  const world = await stage.start(undefined, {}, false);
  await world.handle.signal('pause', 'now');
  await world.handle.signal('pause', null);
  await world.handle.signal('resume', { extraTurns: 'many' });
  await world.handle.signal('pause', { mode: 7, note: {} });
  await world.untilState('paused');
  await world.handle.signal('resume', []);
  await world.send('works');
  await world.untilAsked('finishTurn');
});

test('an exhausted budget pauses and says which; resuming with a grant goes on', async () => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks(toolCall())), { budget: { tokens: 20 } });
  await world.untilState('paused');
  expect(world.saved).toMatchObject({ paused: { by: 'budget', exhausted: 'tokens', limit: 20 }, tokensUsed: 30 });
  expect(world.events).toEqual(['budget.exhausted', 'conversation.paused']);
  await world.handle.signal('resume');
  await until(
    async () => world.events.filter((type) => type === 'conversation.paused').length === 2,
    () => 'not paused again',
  );
  await world.handle.signal('resume', { extraTokens: 100 });
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel')).toHaveLength(3);
});

test('a conversation that has stored all that it may pauses before the next step, and goes on with a grant', async () => {
  const exhausted = () => ({ outcome: 'exhausted' as const, storedBytes: 3 * 2 ** 20 + 5 });
  const world = await stage.start((world) => world.answers.push(asks(toolCall()), exhausted), { budget: { storageMb: 3, steps: 2 } });
  await world.untilState('paused');
  expect(world.saved).toMatchObject({ paused: { by: 'budget', exhausted: 'storage', limit: 3 }, stepsUsed: 1 });
  expect(world.events).toEqual(['budget.exhausted', 'conversation.paused']);
  await world.handle.signal('resume', { extraStorageMb: 2 });
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel').map((args) => args['storageLimit'])).toEqual([3 * 2 ** 20, 3 * 2 ** 20, 5 * 2 ** 20]);
  expect(world.asked('shell:run')[0]).toMatchObject({ storageLimit: 3 * 2 ** 20 });
});

test('a message over the budget of turns waits for a grant', async () => {
  const world = await stage.start(undefined, { budget: { turns: 1 } });
  await world.untilAsked('finishTurn');
  await world.send('one more');
  await world.untilState('paused');
  expect(world.saved).toMatchObject({ queued: 1, paused: { exhausted: 'turns', limit: 1 } });
  await world.handle.signal('resume', { extraTurns: 1 });
  await world.untilAsked('finishTurn', 2);
});

test('a sandbox that is left waiting is frozen, then stopped, and the status says so', async () => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks()), { freezeAfterMs: 50, stopAfterMs: 200 });
  await world.untilAsked('stopSandbox');
  expect(world.asked('freezeSandbox')).toHaveLength(1);
  await until(
    async () => world.saved?.sandboxTier === 'stopped',
    () => `tier ${world.saved?.sandboxTier}`,
  );
});

test('a sandbox with a paused command in it is frozen but not stopped', async () => {
  const call = toolCall();
  const world = await stage.start(
    (world) => {
      world.answers.push(asks(call), asks());
      world.tool = followCommand;
    },
    { stopAfterMs: 1 },
  );
  await world.untilAsked('shell:run');
  await world.handle.signal('pause', { mode: 'now' });
  await world.untilState('paused');
  // Another one that was left waiting later and longer has been stopped: the first one's time was over before.
  const other = await stage.start((world) => world.answers.push(asks(toolCall()), asks()), { stopAfterMs: 500 });
  await other.untilAsked('stopSandbox');
  expect(world.asked('freezeSandbox').length).toBeGreaterThan(0);
  expect(world.asked('stopSandbox')).toEqual([]);
});

test('a sandbox that is left waiting is hibernated between frozen and stopped, and may be stopped where that is impossible', async () => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks()), { freezeAfterMs: 50, hibernateAfterMs: 200, stopAfterMs: 400 });
  await world.untilAsked('stopSandbox');
  expect(world.asked('freezeSandbox')).toHaveLength(1);
  expect(world.asked('hibernateSandbox')).toMatchObject([{ otherwise: 'stop' }]);
});

test('a sandbox that is left waiting longest is archived, with what rests in it', async () => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks()), { hibernateAfterMs: 50, archiveAfterMs: 200 });
  await until(
    async () => world.saved?.sandboxTier === 'archived',
    () => `tier ${world.saved?.sandboxTier}`,
  );
  expect(world.asked('archiveSandbox')).toMatchObject([{ otherwise: 'stop' }]);
});

test('a sandbox with a paused command in it is hibernated, and left as it is where that is impossible', async () => {
  const world = await stage.start(
    (world) => {
      world.answers.push(asks(toolCall()), asks());
      world.tool = followCommand;
    },
    { hibernateAfterMs: 200 },
  );
  await world.untilAsked('shell:run');
  await world.handle.signal('pause', { mode: 'now' });
  await world.untilAsked('hibernateSandbox');
  expect(world.asked('hibernateSandbox')).toMatchObject([{ otherwise: 'stay' }]);
  await until(
    async () => world.saved?.sandboxTier === 'hibernated',
    () => `tier ${world.saved?.sandboxTier}`,
  );
  await world.handle.signal('resume', {});
  await world.untilAsked('wakeSandbox');
});
