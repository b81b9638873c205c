import { Client, Connection } from '@temporalio/client';
import { connect, type Chat } from '../../src/client.ts';
import { createConversationReaper } from '../../src/worker/reap-conversations.ts';
import { startBareWorker } from '../bare-worker.ts';
import { startBenchWorker } from '../bench-worker.ts';
import { compare, compareWithLimit, timed, type BenchmarkResult } from '../measure.ts';
import { clientOptions, type BenchParts } from '../parts.ts';
import { isHidden, proportionalSetSizeMib } from '../process-memory.ts';
import { inParallel } from './in-parallel.ts';
import { startWorkerProcess } from './worker-process.ts';

const FEW = 100;
const MANY = 1_000;
const ROUNDS = 3;
const LIMIT_FOR_100_MIB = 100;
/** A round is made every five minutes. */
export const REAP_LIMIT_MS = 3_000;

interface Load {
  /** Milliseconds for each turn, by round. */
  turns: number[];
  /** Of the worker, after the rounds. */
  memoryMib: number;
}

/** A thousand open conversations on one worker: the time of a turn when twenty callers have one each, against bare updates and activities and against a hundred conversations, the worker's memory, and a round of the reaper over all of them. */
export async function measureOpenConversations(parts: BenchParts): Promise<BenchmarkResult> {
  try {
    const baseline = await bareTurns(parts);
    const { few, many, reaping } = await loads(parts);
    const for100 = ((many.memoryMib - few.memoryMib) / (MANY - FEW)) * 100;
    return [
      compare(
        { name: 'turn among 1,000', goal: 1.25, unit: 'ms', baselineIs: 'an update that runs an activity, of 1,000 workflows' },
        { subject: many.turns, baseline },
      ),
      compare(
        { name: 'turn among 10 times', goal: 1.1, unit: 'ms', baselineIs: 'a turn among 100 conversations' },
        { subject: many.turns, baseline: few.turns },
      ),
      compareWithLimit({ name: 'memory of 100 more', unit: 'MiB', limit: LIMIT_FOR_100_MIB }, [for100]),
      compareWithLimit({ name: 'round of the reaper', unit: 'ms', limit: REAP_LIMIT_MS }, reaping),
    ];
  } catch (error) {
    if (isHidden(error)) return { skipped: 'the memory of other processes can be read by root' };
    throw error;
  }
}

async function loads(parts: BenchParts): Promise<{ few: Load; many: Load; reaping: number[] }> {
  const { stack, log } = parts;
  await using worker = await startWorkerProcess(stack);
  await using longshore = await connect(clientOptions(stack, log));
  const start = () => longshore.start({ agent: 'greeter', user: 'bench' });
  const under = async (chats: Chat[]): Promise<Load> => {
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await timeOfTurn(chats));
    return { turns: rounds, memoryMib: await proportionalSetSizeMib(worker.pid) };
  };
  const chats = await inParallel(FEW, start);
  const few = await under(chats);
  chats.push(...(await inParallel(MANY - FEW, start)));
  const many = await under(chats);
  const reaping = await timesOfRounds(parts);
  await inParallel(MANY, async (index) => chats[index]?.close());
  return { few, many, reaping };
}

/** Of the reaper, which asks for the workflow of each open conversation. */
export async function timesOfRounds({ stack, store, sandboxes, log }: BenchParts): Promise<number[]> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = stack.config;
  const connection = await Connection.connect({ address });
  const { workflow: workflows } = new Client({ connection, namespace });
  const unused = () => Promise.reject(new Error('there are no sub-agents'));
  const subAgents = { close: unused, tellParent: unused, tellOfPlace: unused };
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // Each from the first conversation on: the next round of the same one would go on after the thousandth.
    const reap = createConversationReaper({ store, sandboxes, agents: new Map(), workflows, subAgents, log });
    times.push(await timed(() => reap(new AbortController().signal)));
  }
  await connection.close();
  return times;
}

/** Each conversation has one turn. */
export async function timeOfTurn(chats: Chat[]): Promise<number> {
  const all = await timed(() =>
    inParallel(chats.length, async (index) => {
      await chats[index]?.send('Ahoy.');
      await chats[index]?.reply();
    }),
  );
  return all / chats.length;
}

/** The same number of workflows that are only told to run an activity. */
async function bareTurns(parts: BenchParts): Promise<number[]> {
  await using worker = await startBenchWorker(parts);
  await using bare = await startBareWorker(parts, worker);
  const all = await inParallel(MANY, () => bare.updates());
  const samples: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) samples.push((await timed(() => inParallel(MANY, async (index) => all[index]?.go()))) / MANY);
  await inParallel(MANY, async (index) => all[index]?.[Symbol.asyncDispose]());
  return samples;
}
