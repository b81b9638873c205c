import type { Store } from '../../src/store/store.ts';
import { startBareWorker } from '../bare-worker.ts';
import { startBenchWorker, type BenchWorker } from '../bench-worker.ts';
import { compare, timed, type BenchmarkResult, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';
import { openClient, startLeastService, startService, type Ask } from './service.ts';

const WARM_UP = 10;
const ROUNDS = 60;

/** The HTTP service against what it stands in front of: the client in this process, and Temporal alone. Samples of subject and baseline by turns. */
export async function measureHttpService(parts: BenchParts): Promise<BenchmarkResult> {
  const asked: number[] = [];
  await using worker = await startBenchWorker({ ...parts, store: noting(parts.store, asked) });
  await using service = await startService(parts);
  const { ask } = await openClient(worker.longshore, service);
  return [await measureStart(worker, ask), ...(await measureMessage(parts, worker, { ask, asked }))];
}

async function measureStart({ longshore }: BenchWorker, ask: Ask): Promise<Measurement> {
  const samples = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const ids: string[] = [];
    const subject = await timed(async () =>
      ids.push((await ask<{ conversationId: string }>('/v1/conversations', { agent: 'greeter', user: 'bench' })).conversationId),
    );
    const baseline = await timed(async () => ids.push((await longshore.start({ agent: 'greeter', user: 'bench', tenant: 'bench' })).id));
    for (const id of ids) await longshore.close(id);
    if (round < WARM_UP) continue;
    samples.subject.push(subject);
    samples.baseline.push(baseline);
  }
  return compare({ name: 'http-start', goal: 1.2, unit: 'ms', baselineIs: 'the client in this process' }, samples);
}

/**
 * From the message to the request to the model; the baseline is from an update to the activity that it leads to. `http-least` is what any service that is a
 * process of its own has to add to that.
 */
async function measureMessage(parts: BenchParts, worker: BenchWorker, { ask, asked }: { ask: Ask; asked: number[] }): Promise<Measurement[]> {
  await using bare = await startBareWorker(parts, worker);
  await using updates = await bare.updates();
  await using leastUpdates = await bare.updates();
  await using least = await startLeastService(parts);
  const askLeast = async () => (await fetch(`${least.url}/${leastUpdates.workflowId}`, { method: 'POST', body: '{"message":"Ahoy."}' })).text();
  const samples = { subject: [] as number[], least: [] as number[], baseline: [] as number[] };
  const { conversationId } = await ask<{ conversationId: string }>('/v1/conversations', { agent: 'greeter', user: 'bench' });
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    asked.length = 0;
    const began = performance.now();
    await ask(`/v1/conversations/${conversationId}/messages?wait=30`, { message: 'Ahoy.' });
    const subject = (asked[0] ?? Number.NaN) - began;
    const baseline = await updates.once();
    const leastSample = await leastUpdates.once(askLeast);
    if (round < WARM_UP) continue;
    samples.subject.push(subject);
    samples.least.push(leastSample);
    samples.baseline.push(baseline);
  }
  await worker.longshore.close(conversationId);
  const head = { unit: 'ms', baselineIs: 'an update that starts an activity' } as const;
  return [
    compare({ name: 'http-message', goal: 1.3, ...head }, samples),
    compare({ name: 'http-least', ...head }, { subject: samples.least, baseline: samples.baseline }),
  ];
}

/** The same store, which notes when a model is about to be asked. */
function noting(store: Store, asked: number[]): Store {
  const appendOpen: Store['events']['appendOpen'] = async (step, events) => {
    const isOpen = await store.events.appendOpen(step, events);
    if (events[0]?.type === 'step.started') asked.push(performance.now());
    return isOpen;
  };
  return { ...store, events: { ...store.events, appendOpen } };
}
