import { connect } from '../../src/client.ts';
import { startBareWorker } from '../bare-worker.ts';
import { startBenchWorker } from '../bench-worker.ts';
import { compare, compareWithLimit, timed, type BenchmarkResult } from '../measure.ts';
import { clientOptions, type BenchParts } from '../parts.ts';
import { isHidden, proportionalSetSizeMib } from '../process-memory.ts';
import { startWorkerProcess } from './worker-process.ts';

const OPEN = 1_000;
/** Callers at the same time. */
const CALLERS = 20;
const ROUNDS = 3;
const MEMORY_LIMIT_MIB = 800;

/** A thousand open conversations on one worker: the time of a turn when twenty callers have one each, against bare updates and activities, and the worker's memory. */
export async function measureOpenConversations(parts: BenchParts): Promise<BenchmarkResult> {
  try {
    const baseline = await bareTurns(parts);
    const { subject, memory } = await turns(parts);
    return [
      compare({ name: 'turn among 1,000', goal: 1.25, unit: 'ms', baselineIs: 'an update that starts an activity' }, { subject, baseline }),
      compareWithLimit({ name: 'memory of the worker', unit: 'MiB', limit: MEMORY_LIMIT_MIB }, memory),
    ];
  } catch (error) {
    if (isHidden(error)) return { skipped: 'the memory of other processes can be read by root' };
    throw error;
  }
}

async function turns({ stack, log }: BenchParts): Promise<{ subject: number[]; memory: number[] }> {
  await using worker = await startWorkerProcess(stack);
  await using longshore = await connect(clientOptions(stack, log));
  const chats = await inParallel(OPEN, () => longshore.start({ agent: 'greeter', user: 'bench' }));
  const subject: number[] = [];
  const memory: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const all = await timed(() =>
      inParallel(OPEN, async (index) => {
        await chats[index]?.send('Ahoy.');
        await chats[index]?.reply();
      }),
    );
    subject.push(all / OPEN);
    memory.push(await proportionalSetSizeMib(worker.pid));
  }
  await inParallel(OPEN, async (index) => chats[index]?.close());
  return { subject, memory };
}

/** The same number of workflows that are only told to run an activity. */
async function bareTurns(parts: BenchParts): Promise<number[]> {
  await using worker = await startBenchWorker(parts);
  await using bare = await startBareWorker(parts, worker);
  const all = await inParallel(OPEN, () => bare.updates());
  const samples: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) samples.push((await timed(() => inParallel(OPEN, async (index) => all[index]?.go()))) / OPEN);
  await inParallel(OPEN, async (index) => all[index]?.[Symbol.asyncDispose]());
  return samples;
}

async function inParallel<T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const work = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await act(index);
  };
  await Promise.all(Array.from({ length: CALLERS }, work));
  return results;
}
