import type { WorkflowHandle } from '@temporalio/client';
import { asks, Stage, toolCall, until, type Answer, type World } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** Attributes as Temporal has them. */
async function attributesOf(handle: WorkflowHandle): Promise<Record<string, unknown>> {
  const { typedSearchAttributes } = await handle.describe();
  return Object.fromEntries(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
}

/** The same after a turn: Temporal gets them with the end of the workflow task that ends the turn, soon after the status is saved. */
async function attributesAtEnd(handle: WorkflowHandle): Promise<Record<string, unknown>> {
  await until(
    async () => (await attributesOf(handle))['ConversationState'] === 'idle',
    () => 'the conversation is not shown as idle',
  );
  return attributesOf(handle);
}

/** An answer that cost so much. */
const costing =
  (costUsd: number | null, answer: Answer): Answer =>
  async (args) => {
    const given = await answer(args);
    return given.outcome === 'answered' ? { ...given, usage: { ...given.usage, costUsd } } : given;
  };

const answer = (world: World, callId: string, hash: string) =>
  world.handle.executeUpdate('resolveApproval', { args: [{ callId, hash, answer: 'allow-once' }] });

test('a conversation shows since when it waits for a person, and what it has cost, and can be found by both', async () => {
  const call = toolCall({ decision: 'ask' });
  const world = await stage.start((world) => world.answers.push(costing(0.25, asks(call)), costing(0.125, asks())));
  await world.untilState('awaiting-approval');
  const requestedAt = new Date(world.saved?.pendingApprovals[0]?.requestedAtMs ?? 0);
  expect(await attributesOf(world.handle)).toMatchObject({ AwaitingApproval: true, WaitingSince: requestedAt, CostUsd: 0.25 });
  const later = new Date(requestedAt.getTime() + 60_000).toISOString();
  const query = `WorkflowId = '${world.conversationId}' AND WaitingSince < '${later}' AND CostUsd > 0.2`;
  await until(
    async () => (await stage.client.workflow.count(query)).count === 1,
    () => `not found with ${query}`,
  );
  await answer(world, call.callId, call.hash);
  await world.untilAsked('finishTurn');
  expect(await attributesAtEnd(world.handle)).toMatchObject({ CostUsd: 0.375 });
  expect(await attributesOf(world.handle)).not.toHaveProperty('WaitingSince');
});

test('a pause is a time of waiting, which begins with the pause', async () => {
  const world = await stage.start();
  await world.untilAsked('finishTurn');
  const before = Date.now();
  await world.handle.signal('pause');
  await world.untilState('paused');
  const { WaitingSince } = await attributesOf(world.handle);
  expect(Math.abs((WaitingSince as Date).getTime() - before)).toBeLessThan(30_000);
  await world.handle.signal('resume');
  await world.untilState('idle');
  expect(await attributesOf(world.handle)).not.toHaveProperty('WaitingSince');
});

test('many cheap steps make few events; the end of the turn shows the whole cost', async () => {
  const steps = 30;
  const world = await stage.start((world) => {
    for (let step = 1; step < steps; step += 1) world.answers.push(costing(0.01, asks(toolCall({ readOnly: true }))));
    world.answers.push(costing(0.01, asks()));
  });
  await world.untilAsked('finishTurn');
  expect(await attributesAtEnd(world.handle)).toMatchObject({ CostUsd: 0.3 });
  const { events } = await world.handle.fetchHistory();
  const costs = (events ?? []).flatMap(
    ({ upsertWorkflowSearchAttributesEventAttributes: upsert }) => upsert?.searchAttributes?.indexedFields?.['CostUsd'] ?? [],
  );
  expect(costs.length).toBeLessThan(steps / 2 + 1);
});

test('a conversation that has no cost and waits for no person sets neither, and has only the patches that every conversation has', async () => {
  const world = await stage.start((world) => world.answers.push(costing(null, asks(toolCall())), asks()));
  await world.untilAsked('finishTurn');
  await world.close();
  const attributes = await attributesOf(world.handle);
  expect(attributes).not.toHaveProperty('CostUsd');
  expect(attributes).not.toHaveProperty('WaitingSince');
  expect(attributes).toMatchObject({ TemporalChangeVersion: ['accept-with-model', 'finish-locally'] });
});
