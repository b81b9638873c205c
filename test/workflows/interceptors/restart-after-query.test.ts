import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { DeterminismViolationError } from '@temporalio/workflow';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { makeId } from '../../../src/contracts/ids.ts';
import { quiet } from '../support.ts';

const WORKFLOWS = fileURLToPath(new URL('./fixtures/ends-locally.ts', import.meta.url));
const INTERCEPTORS = fileURLToPath(new URL('../../../src/workflows/interceptors/restart-after-query.ts', import.meta.url));
/** A query comes with the right task almost always. */
const ROUNDS = 20;
/** Less than a query takes. */
const WORK_MS = 50;

let client: Client;
let native: NativeConnection;
beforeAll(async () => {
  const address = process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233';
  native = await NativeConnection.connect({ address });
  client = new Client({ connection: await Connection.connect({ address }) });
});
afterAll(async () => {
  await native.close();
  await client.connection.close();
});

/** Asks a workflow while its local activities end, until a task has failed for it, or the end of one was completed with a task, and what followed it with the next. */
async function askWhileItEnds(workflowInterceptorModules: string[]) {
  const workflowBundle = await bundleWorkflowCode({ workflowsPath: WORKFLOWS, workflowInterceptorModules, logger: quiet });
  const taskQueue = makeId('conv', Date.now(), Math.random);
  const holds = new EventEmitter();
  const activities = {
    async hold() {
      const released = once(holds, 'release');
      holds.emit('held');
      await released;
    },
    work: () => sleep(WORK_MS),
  };
  const worker = await Worker.create({ connection: native, taskQueue, workflowBundle, activities, shutdownGraceTime: 100 });
  return worker.runUntil(async () => {
    const handle = await client.workflow.start('endsLocally', { taskQueue, workflowId: taskQueue });
    for (let round = 1; !hasAsked(await eventsOf(handle)); round += 1) {
      if (round > ROUNDS) throw new Error(`no query was answered while a local activity ended, in ${ROUNDS} rounds`);
      const held = once(holds, 'held');
      await handle.signal('round');
      await held;
      // Both come while a task runs, so the next one has both.
      const answer = handle.query<number>('rounds');
      await handle.signal('round');
      holds.emit('release');
      await answer;
    }
    await handle.terminate();
    return { workflowBundle, history: await handle.fetchHistory() };
  });
}

const eventsOf = async (handle: WorkflowHandle) => (await handle.fetchHistory()).events ?? [];
type Events = Awaited<ReturnType<typeof eventsOf>>;

/** Whether a patch was completed with a later task than the local activity before it. */
function endsApart(events: Events): boolean {
  const markers = events.flatMap(({ markerRecordedEventAttributes }) => markerRecordedEventAttributes ?? []);
  return markers.some(({ markerName, workflowTaskCompletedEventId }, index) => {
    const last = markers[index - 1];
    return markerName === 'core_patch' && last !== undefined && String(last.workflowTaskCompletedEventId) !== String(workflowTaskCompletedEventId);
  });
}

const failures = (events: Events) => events.flatMap(({ workflowTaskFailedEventAttributes }) => workflowTaskFailedEventAttributes?.failure?.message ?? []);
const hasAsked = (events: Events) => endsApart(events) || failures(events).length > 0;

test('a task in which a local activity ends after a query begins again, and the run can be replayed', async () => {
  const { workflowBundle, history } = await askWhileItEnds([INTERCEPTORS]);
  await Worker.runReplayHistory({ workflowBundle }, history);
  expect(new Set(failures(history.events ?? []))).toEqual(
    new Set(['A query was answered while a local activity ended. The workflow task begins again, so that a replay finds the same order.']),
  );
}, 60_000);

// When this fails, Temporal's core has the same order in a replay, and the interceptors of workflows are not needed any more.
test('without that, a run in which a query was answered while a local activity ended cannot be replayed', async () => {
  const { workflowBundle, history } = await askWhileItEnds([]);
  await expect(Worker.runReplayHistory({ workflowBundle }, history)).rejects.toThrow(DeterminismViolationError);
  expect(failures(history.events ?? [])).toEqual([]);
}, 60_000);
