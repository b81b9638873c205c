import { setTimeout as sleep } from 'node:timers/promises';
import type { Chat } from '../src/client.ts';
import type { Store } from '../src/store/store.ts';
import { gaps, startBareWorker } from './bare-worker.ts';
import { startBenchWorker } from './bench-worker.ts';
import { compare, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

/** As many as the script of the agent calls in one step. */
const STEPS = 20;
const ROUNDS = 8;
/** They start the sandbox, fill the caches and give the compiler time to know the code, as in a worker that has run for a while. */
const WARM_UP = 4;
const LOOK_EVERY_MS = 200;

/** A tool call (claimed, run in the sandbox, stored, told to readers) against an activity that does nothing, on the same server. */
export async function measureToolStep(parts: BenchParts): Promise<Measurement[]> {
  const ends: number[] = [];
  await using worker = await startBenchWorker({ ...parts, store: noting(parts.store, ends) });
  await using bare = await startBareWorker(parts, worker);
  const chat = await worker.longshore.start({ agent: 'stepper', user: 'bench' });
  const samples = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    ends.length = 0;
    await chat.send('Go.');
    await untilDone(chat, ends);
    const subject = gaps(ends);
    const baseline = await bare.run(STEPS);
    if (round < WARM_UP) continue;
    samples.subject.push(...subject);
    samples.baseline.push(...baseline);
  }
  await chat.close();
  for await (const event of chat.events()) if (event.type === 'conversation.closed') break;
  return [compare({ name: 'tool-step', goal: 1.5, unit: 'ms', baselineIs: 'an activity that does nothing' }, samples)];
}

/** Looks now and then: following the events would put a reader's work into the worker's process. */
async function untilDone(chat: Chat, ends: number[]): Promise<void> {
  do await sleep(LOOK_EVERY_MS);
  while (ends.length < STEPS || (await chat.status()).state !== 'idle');
}

/** The same store, which notes when each call has its result. */
function noting(store: Store, ends: number[]): Store {
  const settle: Store['toolCalls']['settle'] = async (...call) => {
    const settled = await store.toolCalls.settle(...call);
    ends.push(performance.now());
    return settled;
  };
  return { ...store, toolCalls: { ...store.toolCalls, settle } };
}
