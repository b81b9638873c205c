import { endSenders } from '../../src/worker/end-senders.ts';
import { createSignal } from '../../src/worker/signals.ts';
import type { Store } from '../../src/store/store.ts';
import { Stage, until } from './support.ts';

let stage: Stage;
beforeAll(async () => (stage = await Stage.open()), 60_000);
afterAll(async () => stage.close());
beforeEach(() => (stage.senders.runs = 0));

const untilRuns = (runs: number) =>
  until(
    async () => stage.senders.runs === runs,
    () => `${stage.senders.runs} runs, not ${runs}`,
  );

test('a sender goes on while events wait, tries again after a pause, and rests when nothing waits', async () => {
  stage.senders.results = [{ outcome: 'more' }, { outcome: 'retry', afterMs: 10 }, { outcome: 'empty' }];
  const sender = await stage.senders.start(stage);
  await untilRuns(3);
  expect((await sender.describe()).status.name).toBe('RUNNING');
  await sender.signal('wake');
  await sender.result();
  expect(stage.senders.runs).toBe(4);
});

test('a sender that pauses tries at once when it is woken', async () => {
  stage.senders.results = [{ outcome: 'retry', afterMs: 3_600_000 }];
  const sender = await stage.senders.start(stage);
  await untilRuns(1);
  await sender.signal('wake');
  await sender.result();
});

test('the sender of a webhook that was removed is ended, and that of another one rests', async () => {
  stage.senders.results = [{ outcome: 'empty' }, { outcome: 'empty' }];
  const [removed, kept] = [await stage.senders.start(stage), await stage.senders.start(stage)];
  await untilRuns(2);
  const list = async () => [{ webhookId: kept.workflowId.replace('webhook:', '') }];
  const store = { webhooks: { list } } as unknown as Pick<Store, 'webhooks'>;
  const end = () => endSenders({ store, workflows: stage.client.workflow, signal: createSignal(stage.client), taskQueue: stage.taskQueue });
  await until(
    // What is listed is a moment behind.
    async () => (await end(), (await removed.describe()).status.name === 'COMPLETED'),
    () => 'the sender has not ended',
  );
  expect((await kept.describe()).status.name).toBe('RUNNING');
  expect(stage.senders.runs).toBe(3);
  await kept.signal('wake');
  await kept.result();
});

test('the history of a sender stays small however much it sends', async () => {
  stage.senders.results = Array.from({ length: 200 }, () => ({ outcome: 'more' as const }));
  const sender = await stage.senders.start(stage);
  await sender.result();
  expect(stage.senders.runs).toBe(201);
  const { historyLength, runId } = await sender.describe();
  expect(historyLength).toBeLessThan(1_000);
  expect(runId).not.toBe((sender as unknown as { firstExecutionRunId: string }).firstExecutionRunId);
}, 60_000);

test('one that an operator starts without a webhook says what to do', async () => {
  const handle = await stage.client.workflow.start('webhookSender', { taskQueue: stage.taskQueue, workflowId: `webhook:${Math.random()}`, args: [] });
  await expect(handle.result()).rejects.toMatchObject({ cause: { message: expect.stringContaining('Make webhooks with: longshore webhooks create') } });
});
