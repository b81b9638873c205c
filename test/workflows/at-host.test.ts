import { deferred } from '../../src/common/deferred.ts';
import { asks, Stage, toolCall, type World } from './support.ts';

/** What the workers of another host than `home` say of activities that need the sandbox. */
function sandboxOn(world: World, home: string, waitMs = 60_000, needsIt = /:|Sandbox/): void {
  world.elsewhere = (activity, host) => (needsIt.test(activity) && host !== home ? { sandboxId: 'sbx', host: home, waitMs } : undefined);
}

let stage: Stage;
const [host, other] = ['first', 'second'] as const;
beforeAll(async () => {
  stage = await Stage.open();
  await stage.pollHost(host);
  await stage.pollHost(other);
});
afterAll(() => stage.close());

test('an activity whose sandbox is on another host is repeated there, and so are the next ones of the conversation', async () => {
  const [first, second] = [toolCall(), toolCall()];
  const world = await stage.start((world) => {
    world.answers.push(asks(first), asks(second), asks());
    sandboxOn(world, host);
  });
  await world.untilAsked('finishTurn');
  await world.close();
  expect(world.whereAsked()).toEqual([
    'callModel @any',
    `shell:run ${first.callId} @any`,
    `shell:run ${first.callId} @${host}`,
    `callModel @${host}`,
    `shell:run ${second.callId} @${host}`,
    `callModel @${host}`,
    `destroySandbox @${host}`,
  ]);
  expect(world.asked('settleCall')).toEqual([]);
});

test('a sandbox that has moved is followed', async () => {
  const [first, second] = [toolCall(), toolCall()];
  const world = await stage.start((world) => {
    world.answers.push(asks(first), asks(second), asks());
    sandboxOn(world, host);
    world.tool = async ({ callId }) => {
      if (callId === first.callId) sandboxOn(world, other);
      return { outcome: 'finished', isError: false, sandboxTier: 'running' };
    };
  });
  await world.untilAsked('finishTurn');
  const tools = world.whereAsked().filter((place) => place.startsWith('shell:run'));
  const at = [
    [first, 'any'],
    [first, host],
    [second, host],
    [second, other],
  ] as const;
  expect(tools).toEqual(at.map(([{ callId }, where]) => `shell:run ${callId} @${where}`));
});

test('when nobody polls for the host, any worker is asked again; it may take the sandbox over', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.elsewhere = (activity) => {
      if (!activity.includes(':')) return undefined;
      world.elsewhere = () => undefined;
      return { sandboxId: 'sbx', host: 'silent', waitMs: 500 };
    };
  });
  await world.untilAsked('finishTurn');
  expect(world.whereAsked()).toEqual(['callModel @any', `shell:run ${call.callId} @any`, `shell:run ${call.callId} @any`, 'callModel @any']);
});

test('when the worker of the host is cut off from Postgres, any worker is asked again; it may take the sandbox over', async () => {
  const [first, second] = [toolCall(), toolCall()];
  const world = await stage.start((world) => {
    world.answers.push(asks(first), asks(second), asks());
    sandboxOn(world, host);
    world.tool = async ({ callId }) => {
      if (callId === first.callId) {
        world.cutOff = host;
        world.elsewhere = () => undefined;
      }
      return { outcome: 'finished', isError: false, sandboxTier: 'running' };
    };
  });
  await world.untilAsked('finishTurn');
  expect(world.whereAsked()).toEqual([
    'callModel @any',
    `shell:run ${first.callId} @any`,
    `shell:run ${first.callId} @${host}`,
    `callModel @${host}`,
    'callModel @any',
    `shell:run ${second.callId} @any`,
    'callModel @any',
  ]);
});

test('a host that is answered for at once, while other workers still say that it has the sandbox, is asked again after growing pauses', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.cutOff = host;
    // The second host, which is to have it, is too new to know that the first one is lost.
    const homes = [other, host, other, host, other, host, other, host];
    world.elsewhere = (activity, at) => {
      const home = activity.includes(':') && at !== host ? homes.shift() : undefined;
      return home === undefined ? undefined : { sandboxId: 'sbx', host: home, waitMs: 60_000 };
    };
  });
  await world.untilAsked('finishTurn');
  const { events } = await world.handle.fetchHistory();
  const told = (events ?? []).flatMap<string | number>(({ timerStartedEventAttributes: timer, activityTaskScheduledEventAttributes: task }) => {
    if (timer) return [Number(timer.startToFireTimeout?.seconds ?? 0) * 1000 + (timer.startToFireTimeout?.nanos ?? 0) / 1e6];
    return task?.activityType?.name === 'shell:run' ? [task.taskQueue?.name?.slice(stage.taskQueue.length + 1) || 'any'] : [];
  });
  const round = ['any', other];
  expect(told).toEqual([...round, host, ...round, 500, host, ...round, 1_000, host, ...round, 2_000, host, 'any']);
});

test('a rest waits once for a host that does not answer, and is left to the next one', async () => {
  const world = await stage.start(
    (world) => {
      world.answers.push(asks(toolCall()), asks());
      sandboxOn(world, 'silent', 300, /freeze/);
    },
    { freezeAfterMs: 1 },
  );
  await world.untilAsked('freezeSandbox', 2);
  await world.send('Again.');
  await world.untilAsked('finishTurn', 2);
  const asked = world.whereAsked();
  // The model is called twice in the first turn. In the second turn, nothing is sent to the host that did not answer.
  const nextTurn = asked.flatMap((place, index) => (place.startsWith('callModel') ? [index] : []))[2]!;
  expect(asked.slice(0, nextTurn).filter((place) => place.startsWith('freeze'))).toEqual(['freezeSandbox @any', 'freezeSandbox @any']);
  expect(asked[nextTurn]).toBe('callModel @any');
});

test('the host of the sandbox of a plugin holds for its call only', async () => {
  const call = toolCall({ needsSandbox: false, inOwnSandbox: true });
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    sandboxOn(world, host, 60_000, /:/);
  });
  await world.untilAsked('finishTurn');
  expect(world.whereAsked()).toEqual(['callModel @any', `shell:run ${call.callId} @any`, `shell:run ${call.callId} @${host}`, 'callModel @any']);
});

test('hosts that send an activity to each other without an end fail it', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.elsewhere = (activity) => (activity.includes(':') ? { sandboxId: 'sbx', host, waitMs: 60_000 } : undefined);
  });
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run')).toHaveLength(21);
  expect(world.asked('settleCall')).toMatchObject([{ settlement: 'failed', message: 'shell:run failed: it is elsewhere' }]);
});

test('a call that may run only once is settled as such when later attempts fail: an earlier one, whose worker died, may have begun', async () => {
  const over = deferred<void>();
  const call = toolCall({ tool: 'mail:send', needsSandbox: false, retry: 'once', timeoutMs: -599_500 });
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.tool = async () => {
      if (world.asked('mail:send').length > 1) throw new Error('Postgres is away');
      await over.promise;
      throw new Error('too late');
    };
  });
  await world.untilAsked('finishTurn').finally(() => over.resolve());
  const message = 'mail:send failed: Postgres is away';
  expect(world.asked('settleCall')).toMatchObject([{ callId: call.callId, settlement: 'failed', runsOnce: true, message }]);
});
