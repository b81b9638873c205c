import { deferred } from '../../src/common/deferred.ts';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { asks, followCommand, Stage, toolCall, until } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

test('a message is answered step by step until the model asks for nothing', async () => {
  const call = toolCall();
  const world = await stage.start((world) => world.answers.push(asks(call), asks()));
  await world.untilAsked('finishTurn');
  expect(world.names()).toEqual(['callModel', `shell:run ${call.callId}`, 'callModel', 'finishTurn']);
  expect(world.asked('finishTurn')[0]).toMatchObject({
    turnId: 'turn_first',
    outcome: 'finished',
    status: { state: 'idle', tokensUsed: 30, turnsUsed: 1, sandboxTier: 'running' },
  });
  expect(world.asked('callModel').map(({ step }) => step)).toEqual([0, 1]);
  await world.close();
  expect(world.names().slice(-3)).toEqual(['saveStatus', 'destroySandbox', 'saveStatus']);
  expect(world.saved).toMatchObject({ state: 'closed', sandboxTier: 'destroyed' });
  expect(world.events).toEqual(['conversation.closed']);
});

test.each([
  ['attach', '4', 0],
  ['repeat', '5', 5],
  ['once', '30', 3],
] as const)('a call to %s is given up after %s s of silence, and deaths of workers do not make it wait longer', async (retry, seconds, attempts) => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall({ retry })), asks()));
  await world.untilAsked('finishTurn');
  const { events } = await world.handle.fetchHistory();
  const call = (events ?? []).find(({ activityTaskScheduledEventAttributes: task }) => task?.activityType?.name === 'shell:run');
  const { heartbeatTimeout, retryPolicy } = call!.activityTaskScheduledEventAttributes!;
  expect(String(heartbeatTimeout?.seconds)).toBe(seconds);
  expect(retryPolicy?.maximumAttempts ?? 0).toBe(attempts);
  expect(retryPolicy).toMatchObject({ initialInterval: { nanos: 200_000_000 }, backoffCoefficient: 1 });
});

test('calls that only read run side by side, all others in order', async () => {
  const [a, b] = [toolCall({ readOnly: true }), toolCall({ readOnly: true })];
  const [c, d] = [toolCall(), toolCall()];
  const running = new Set<string>();
  let together = 0;
  const world = await stage.start((world) => {
    world.answers.push(asks(a, b, c, d), asks());
    world.tool = async ({ callId }) => {
      running.add(callId);
      if (callId === a.callId || callId === b.callId)
        await until(
          async () => running.size >= 2,
          () => 'the other reader did not start',
        );
      together = Math.max(together, running.size);
      running.delete(callId);
      if (callId === a.callId || callId === b.callId) running.add('read');
      else expect(running.has(c.callId) || running.has(d.callId)).toBe(false);
      return { outcome: 'finished', isError: false, sandboxTier: 'running' };
    };
  });
  await world.untilAsked('finishTurn');
  const tools = world.names().filter((name) => name.startsWith('shell:run'));
  expect(tools.slice(0, 2).toSorted()).toEqual([`shell:run ${a.callId}`, `shell:run ${b.callId}`].toSorted());
  expect(tools.slice(2)).toEqual([`shell:run ${c.callId}`, `shell:run ${d.callId}`]);
});

test('a turn ends when all that ran were behaviours', async () => {
  const world = await stage.start((world) => world.answers.push(asks(toolCall({ kind: 'behavior' }))));
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel')).toHaveLength(1);
});

test.each([
  ['ends when all that ran was code that only had things noted', { onlyNoted: true as const }, 1],
  ['goes on after code that has something to say', {}, 2],
])('a turn %s', async (_, more, steps) => {
  const world = await stage.start((world) => {
    world.answers.push(asks(toolCall({ tool: 'code:run' })), asks());
    world.tool = async () => ({ outcome: 'finished', isError: false, ...more, sandboxTier: 'running' });
  });
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel')).toHaveLength(steps);
});

test('refused calls are settled without running, and the model sees why in its next step', async () => {
  const [denied, invalid] = [toolCall({ decision: 'deny', why: 'rule 1' }), toolCall({ decision: 'invalid' })];
  const world = await stage.start((world) => world.answers.push(asks(denied, invalid), asks()));
  await world.untilAsked('finishTurn');
  expect(world.names()).toEqual(['callModel', 'settleCall', 'callModel', 'finishTurn']);
  expect(world.asked('settleCall')[0]).toMatchObject({ callId: denied.callId, settlement: 'denied', message: 'Denied by policy: rule 1' });
});

test('a model that fails fails the turn, and the conversation goes on', async () => {
  const world = await stage.start((world) => world.answers.push(() => ({ outcome: 'failed', code: 'MODEL_AUTH', message: 'no key' })));
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'failed', message: 'no key' });
  await world.send('again');
  await world.untilAsked('finishTurn', 2);
  expect(world.asked('finishTurn')[1]).toMatchObject({ outcome: 'finished' });
});

test('a message that cannot be accepted fails its turn only', async () => {
  const world = await stage.start((world) => world.broken.set('acceptMessage', 'no text is stored'));
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'failed', message: 'no text is stored' });
  world.broken.clear();
  await world.send('again');
  await world.untilAsked('finishTurn', 2);
});

test('a tool that fails for good is settled as failed, one whose worker died as unknown when it may run only once', async () => {
  const over = deferred<void>();
  const [failing, dying] = [
    toolCall({ tool: 'weather:lookup', needsSandbox: false, retry: 'once' }),
    toolCall({ tool: 'mail:send', needsSandbox: false, retry: 'once', timeoutMs: -599_500 }),
  ];
  const world = await stage.start((world) => {
    world.answers.push(asks(failing, dying), asks());
    world.tool = async ({ callId }) => {
      if (callId === failing.callId) throw new Error('it rains');
      await over.promise;
      throw new Error('too late');
    };
  });
  await world.untilAsked('finishTurn');
  expect(world.asked('settleCall')).toMatchObject([
    { callId: failing.callId, settlement: 'failed', runsOnce: true, message: 'weather:lookup failed: it rains' },
    { callId: dying.callId, settlement: 'unknown' },
  ]);
  expect(world.asked('mail:send')).toHaveLength(3);
  over.resolve();
});

test('a call that may run only once is given to another worker when the first one is silent: that knows whether it has begun', async () => {
  const over = deferred<void>();
  const call = toolCall({ tool: 'mail:send', needsSandbox: false, retry: 'once', timeoutMs: -599_500 });
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.tool = async () => {
      if (world.asked('mail:send').length > 1) return { outcome: 'finished', isError: false, sandboxTier: 'none' };
      await over.promise;
      throw new Error('too late');
    };
  });
  await world.untilAsked('finishTurn');
  expect(world.asked('mail:send')).toHaveLength(2);
  expect(world.asked('settleCall')).toEqual([]);
  over.resolve();
});

test('what a call leaves unknown is told to the model, not run again', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.tool = async () => ({ outcome: 'unknown', why: 'the container died', sandboxTier: 'lost' });
  });
  await world.untilAsked('finishTurn');
  expect(world.names()).toEqual(['callModel', `shell:run ${call.callId}`, 'callModel', 'finishTurn']);
  expect(world.saved?.sandboxTier).toBe('lost');
});

test('a call that was detached without a pause is attached again at once', async () => {
  const call = toolCall();
  let attaches = 0;
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.tool = async () =>
      ++attaches < 3 ? { outcome: 'detached', sandboxTier: 'running' } : { outcome: 'finished', isError: false, sandboxTier: 'running' };
  });
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run').map(({ callId, hash }) => [callId, hash])).toEqual(Array.from({ length: 3 }, () => [call.callId, call.hash]));
});

test('interrupt kills the running command, settles what has no result, and takes the next message', async () => {
  const [first, second] = [toolCall(), toolCall()];
  const world = await stage.start((world) => {
    world.answers.push(asks(first, second));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.send('next');
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn', 2);
  expect(world.asked('interruptCall')).toMatchObject([{ callId: first.callId }]);
  expect(world.asked('settleCall')).toMatchObject([{ callId: second.callId, settlement: 'interrupted' }]);
  expect(world.asked('finishTurn').map(({ outcome }) => outcome)).toEqual(['interrupted', 'finished']);
});

test('interrupt cancels a call outside the sandbox, and settles it', async () => {
  const call = toolCall({ needsSandbox: false, retry: 'once', tool: 'web:get' });
  const world = await stage.start((world) => {
    world.answers.push(asks(call));
    world.tool = async (args, world) => {
      const end = await followCommand(args, world);
      if (end.outcome === 'detached') throw new Error('aborted');
      return end;
    };
  });
  await world.untilAsked('web:get');
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  expect(world.asked('interruptCall')).toEqual([]);
  expect(world.asked('settleCall')).toHaveLength(1);
});

test('interrupt ends a model call', async () => {
  const world = await stage.start((world) => {
    world.answers.push(async () => {
      const context = Context.current();
      await until(
        async () => {
          context.heartbeat();
          return context.cancellationSignal.aborted;
        },
        () => 'the model call was not cancelled',
      );
      return await context.cancelled;
    });
  });
  await world.untilAsked('callModel');
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted' });
  expect(world.asked('shell:run')).toEqual([]);
});

test('a model that answers in spite of an interrupt gets its calls settled, not run', async () => {
  const call = toolCall();
  let interrupted = false;
  const world = await stage.start((world) => {
    world.answers.push(async (args) => {
      await until(
        async () => interrupted,
        () => 'no interrupt',
      );
      return await asks(call)(args);
    });
  });
  await world.untilAsked('callModel');
  await world.handle.signal('interrupt');
  await world.status();
  interrupted = true;
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted' });
  expect(world.asked('settleCall')).toMatchObject([{ callId: call.callId, settlement: 'interrupted' }]);
});

test('stopAfterStep lets the running step finish', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.handle.signal('stopAfterStep');
  world.commands.get(call.callId)!.state = 'ended';
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'stopped' });
  expect(world.asked('callModel')).toHaveLength(1);
});

test('cancel drops the waiting messages and ends the turn; the conversation stays open', async () => {
  const world = await stage.start((world) => {
    world.answers.push(asks(toolCall()));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.send('dropped');
  await world.handle.signal('cancel');
  await world.untilAsked('finishTurn');
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'cancelled', status: { queued: 0 } });
  expect(world.events).toEqual(['turn.finished']);
  await world.send('still here');
  await world.untilAsked('finishTurn', 2);
  expect(world.accepted).toHaveLength(2);
});

test('what a failing attempt of a model call has told last is what the next one is told, however soon it fails', async () => {
  const told: unknown[] = [];
  const fails = () => {
    const context = Context.current();
    const { failures } = (context.info.heartbeatDetails ?? { failures: 0 }) as { failures: number };
    told.push(failures);
    if (failures === 4) return asks()({} as never);
    // The second of two beats is held back, unless the attempt ends.
    context.heartbeat({ failures });
    context.heartbeat({ failures: failures + 1 });
    throw ApplicationFailure.create({ message: 'The provider is busy', type: 'MODEL_UNAVAILABLE', nextRetryDelay: 1 });
  };
  const world = await stage.start((world) => world.answers.push(fails, fails, fails, fails, fails));
  await world.untilAsked('finishTurn');
  expect(told).toEqual([0, 1, 2, 3, 4]);
  await world.close();
});
