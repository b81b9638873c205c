import * as fc from 'fast-check';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { faultPlan, planned, type FaultPlan } from './fakes/fake-faults.ts';
import { FakeTime, runIn } from './fakes/fake-time.ts';
import { FakeWorld } from './fakes/fake-world.ts';
import { sleep, untilDone } from './fakes/until-done.ts';

const OWNER = { sandboxId: 'sbx_1', conversationId: 'conv_1', tenantId: 'tenant' };
const RUNS = Number(process.env['LONGSHORE_TEST_RUNS'] ?? 25);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 8);

/** Returns what the open said of a loss, and how the command ended. */
async function work(sandboxes: Sandboxes, number: number): Promise<object> {
  const { handle, lost } = await untilDone(() => sandboxes.open(OWNER, {}));
  const { status } = await untilDone(() => handle.run('work 3000', { execId: `e${number}` }));
  return { lost, status };
}

async function play(begunAtMs: number[], faults: FaultPlan, latencies: number[]): Promise<void> {
  using time = new FakeTime();
  let drawn = 0;
  const world = new FakeWorld(() => latencies[(drawn += 1) % latencies.length] ?? 1);
  Object.assign(world, planned(faults));
  const workers = [world.worker(), world.worker()];
  const results = begunAtMs.map(async (atMs, number) => {
    await sleep(atMs);
    return work(workers[number % 2]!.sandboxes, number);
  });
  const ended = (await runIn(time)(Promise.allSettled(results))).map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)));
  expect(ended).toEqual(begunAtMs.map(() => ({ lost: undefined, status: 'exited' })));
}

const latency = fc.array(fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 8 }) }, { weight: 1, arbitrary: fc.integer({ min: 20, max: 400 }) }), {
  minLength: 20,
  maxLength: 60,
});

const begun = fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 2, maxLength: 4 });

test('what a refused open removes is never that of an open that came after it', async () => {
  await fc.assert(
    fc.asyncProperty(begun, faultPlan, latency, (begunAtMs, { refusals }, latencies) => play(begunAtMs, { refusals, losses: [] }, latencies)),
    { numRuns: RUNS, seed: SEED },
  );
});

test('nor is it when the connection to the database is lost before or after a statement', async () => {
  await fc.assert(fc.asyncProperty(begun, faultPlan, latency, play), { numRuns: RUNS, seed: SEED });
});
