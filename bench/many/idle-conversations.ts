import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { Client } from 'pg';
import { connect, type Chat, type Longshore } from '../../src/client.ts';
import { compare, compareWithLimit, timed, type BenchmarkResult, type Measurement } from '../measure.ts';
import { clientOptions, type BenchParts } from '../parts.ts';
import { isHidden, proportionalSetSizeMib, treeOf } from '../process-memory.ts';
import { inParallel } from './in-parallel.ts';
import { REAP_LIMIT_MS, timeOfTurn, timesOfRounds } from './open-conversations.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

/** Fewer, for a look: LONGSHORE_BENCH_IDLE=10000. */
const MANY = Number(process.env['LONGSHORE_BENCH_IDLE'] ?? 100_000);
const FEW = 1_000;
/** Fewer than there are in either case: a turn brings its conversation back. */
const CACHED = 100;
const SAMPLES = 20;
/** Conversations that have a turn for a sample of its time. */
const TURNS = 20;
const LIST_LIMIT_MS = 50;
const PROGRESS_EVERY = 10_000;
const LOOK_EVERY_MS = 200;
const MEBIBYTE = 1024 * 1024;

interface Held {
  worker: number[];
  /** Mebibytes; absent where the server is not of this benchmark. */
  servers: Partial<Record<'temporal' | 'postgres', number>>;
  databaseBytes: number;
  turns: number[];
}

/** A hundred thousand conversations that rest on one worker, against a thousand: what worker and servers hold, a turn, lists, and rounds of the reaper. */
export async function measureIdleConversations(parts: BenchParts): Promise<BenchmarkResult> {
  if (!(MANY > FEW)) throw new RangeError(`LONGSHORE_BENCH_IDLE is not a number above ${FEW}`);
  const { stack, log } = parts;
  const database = new Client(stack.config.DATABASE_URL);
  await database.connect();
  try {
    await using worker = await startWorkerProcess(stack, { LONGSHORE_CACHED_CONVERSATIONS: String(CACHED) });
    await using longshore = await connect(clientOptions(stack, log));
    const chats: Chat[] = [];
    const startOfFew = await startUntil(FEW, chats, longshore, parts);
    const few = await held(worker, database, chats);
    const startOfMany = await startUntil(MANY, chats, longshore, parts);
    const many = await held(worker, database, chats);
    const baselineIs = `the same with ${FEW} conversations`;
    return [
      compare({ name: 'idle: start', goal: 1.2, unit: 'ms', baselineIs }, { subject: [startOfMany], baseline: [startOfFew] }),
      compare({ name: 'idle: turn', goal: 1.2, unit: 'ms', baselineIs }, { subject: many.turns, baseline: few.turns }),
      compare({ name: 'idle: worker', goal: 1.2, unit: 'MiB', baselineIs }, { subject: many.worker, baseline: few.worker }),
      ...serversOf(few, many),
      ...(await lists(longshore)),
      compareWithLimit({ name: 'idle: reaper', unit: 'ms', limit: REAP_LIMIT_MS }, await timesOfRounds(parts)),
    ];
  } catch (error) {
    if (isHidden(error)) return { skipped: 'the memory of other processes can be read by root' };
    throw error;
  } finally {
    await database.end();
  }
}

/** Returns the milliseconds of a start, twenty at a time, until the worker has begun the workflow. */
async function startUntil(count: number, chats: Chat[], longshore: Longshore, parts: BenchParts): Promise<number> {
  const missing = count - chats.length;
  const took = await timed(async () => {
    while (chats.length < count) {
      const next = Math.min(PROGRESS_EVERY, count - chats.length);
      chats.push(...(await inParallel(next, (index) => longshore.start({ agent: 'greeter', user: `user-${index % 1000}` }))));
      await untilBegun(parts);
      if (count > PROGRESS_EVERY) console.log(`${chats.length} conversations have begun`);
    }
  });
  return took / missing;
}

/** A start returns when Temporal has the workflow: turns would wait behind the first tasks of the others. */
async function untilBegun({ stack }: BenchParts): Promise<void> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, LONGSHORE_TASK_QUEUE: name } = stack.config;
  const connection = await Connection.connect({ address });
  const waiting = async () => {
    const { stats } = await connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, reportStats: true });
    return Number(stats?.approximateBacklogCount ?? 0);
  };
  while ((await waiting()) > 0) await sleep(LOOK_EVERY_MS);
  await connection.close();
}

async function held(worker: WorkerProcess, database: Client, chats: Chat[]): Promise<Held> {
  const turns: number[] = [];
  const workerMib: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const apart = Math.floor(chats.length / (SAMPLES * TURNS));
    turns.push(await timeOfTurn(chats.filter((_, index) => index % apart === 0).slice(sample * TURNS, (sample + 1) * TURNS)));
    workerMib.push(await proportionalSetSizeMib(worker.pid));
  }
  const { rows } = await database.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
  return { worker: workerMib, servers: await serverMemory(), databaseBytes: Number(rows[0]?.bytes), turns };
}

/** Of the servers that this benchmark has started. */
async function serverMemory(): Promise<Held['servers']> {
  const servers: Held['servers'] = {};
  for (const pid of await treeOf(String(process.pid))) {
    const name = (await readFile(`/proc/${pid}/comm`, 'utf8')).trim();
    if (name === 'temporal' || name === 'postgres') servers[name] = (servers[name] ?? 0) + (await proportionalSetSizeMib(pid));
  }
  return servers;
}

/** For each conversation, above what the first thousand take. */
function serversOf(few: Held, many: Held): Measurement[] {
  const baselineIs = `the same for each of the first ${FEW}, with all that does not grow`;
  const each = (name: string, [less, more]: [number, number]) =>
    compare({ name: `idle: ${name}`, unit: 'bytes', baselineIs }, { subject: [(more - less) / (MANY - FEW)], baseline: [less / FEW] });
  const memory = (['temporal', 'postgres'] as const).flatMap((name) => {
    const [less, more] = [few.servers[name], many.servers[name]];
    return less === undefined || more === undefined ? [] : [each(`memory of ${name}`, [less * MEBIBYTE, more * MEBIBYTE])];
  });
  return [...memory, each('database', [few.databaseBytes, many.databaseBytes])];
}

async function lists(longshore: Longshore): Promise<Measurement[]> {
  const filters = {
    all: {},
    'of a user': { user: 'user-7' },
    'of an agent': { agent: 'greeter' },
    'that are idle': { state: 'idle' },
    'that are paused': { state: 'paused' },
  } as const;
  const measurements: Measurement[] = [];
  for (const [name, filter] of Object.entries(filters)) {
    const samples: number[] = [];
    for (let sample = 0; sample < SAMPLES; sample += 1) samples.push(await timed(() => longshore.list({ ...filter, limit: 50 })));
    measurements.push(compareWithLimit({ name: `idle: list ${name}`, unit: 'ms', limit: LIST_LIMIT_MS }, samples));
  }
  return measurements;
}
