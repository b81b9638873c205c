import { asks, Stage, toolCall, until, type World } from '../support.ts';
import { codeThatCalls, counted, finished, long } from './long.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** The runs that a conversation has had until now. */
async function runsOf(world: World): Promise<number> {
  let runs = 0;
  for await (const { workflowId } of stage.client.workflow.list({ query: `WorkflowId = "${world.conversationId}"` })) {
    expect(workflowId).toBe(world.conversationId);
    runs += 1;
  }
  return runs;
}

const untilRuns = (world: World, least: number) =>
  until(
    async () => (await runsOf(world)) >= least,
    () => `fewer than ${least} runs; ${world.names().join(', ')}`,
  );

test('a turn of many steps goes on in new runs, as one turn with one end', async () => {
  const steps = 24;
  const world = await stage.start((made) => {
    made.answers.push(...counted(steps).map(() => long(asks(toolCall()))));
    made.tool = async () => {
      if (made.asked('callModel').length === 12) await made.send('and this', { whenBusy: 'steer', messageId: 'msg_steer' });
      return finished();
    };
  });
  const first = await world.handle.describe();
  await world.untilAsked('finishTurn');
  expect((await world.handle.describe()).runId).not.toBe(first.runId);
  await untilRuns(world, 3);
  expect(world.asked('callModel').map(({ step, turnId }) => [step, turnId])).toEqual(counted(steps + 1).map((step) => [step, 'turn_first']));
  expect(world.accepted).toMatchObject([
    { messageId: 'msg_first', turnId: 'turn_first', steers: false },
    { messageId: 'msg_steer', turnId: 'turn_first', text: 'and this', steers: true },
  ]);
  expect(world.asked('finishTurn')).toMatchObject([{ turnId: 'turn_first', outcome: 'finished' }]);
  expect(world.asked('shell:run')).toHaveLength(steps);
  expect(world.events.filter((type) => type === 'turn.started')).toEqual([]);
  expect(await world.status()).toMatchObject({ state: 'idle', turnsUsed: 1, tokensUsed: (steps + 1) * 15 });
  expect((await world.status()).workedMs).toBeLessThan(Date.now() - first.startTime.getTime() + 1000);
});

test('code that makes many calls goes on in new runs, and each call runs once', async () => {
  const code = toolCall();
  const methods = counted(24).map((index) => `method_${index}`);
  const world = await stage.start((made) => {
    made.answers.push(asks(code, toolCall({ callId: 'after' })));
    const calls = codeThatCalls(code.callId, methods);
    made.tool = async (args, ...more) => (args.callId === 'after' ? finished() : calls(args, ...more));
  });
  await world.untilAsked('finishTurn');
  await untilRuns(world, 3);
  const ran = world.asked('shell:run').map(({ callId }) => String(callId));
  expect(ran.filter((callId) => callId !== code.callId)).toEqual([...methods, 'after']);
  expect(world.asked('callModel').map(({ step }) => step)).toEqual([0, 1]);
  expect(world.asked('finishTurn')).toMatchObject([{ turnId: 'turn_first', outcome: 'finished' }]);
});
