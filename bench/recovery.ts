import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { connect, type Chat } from '../src/client.ts';
import { compareWithLimit, percentile, type Measurement } from './measure.ts';
import { AGENTS, type BenchParts } from './parts.ts';

const WORKER = fileURLToPath(new URL('../src/worker-main.ts', import.meta.url));
const ROUNDS = 15;
const MEDIAN_LIMIT_MS = 6_000;
const MOST_LIMIT_MS = 12_000;
/** What the killed worker has sent to Postgres is stored by then. */
const UNDER_WAY_MS = 250;

/** From the `kill -9` of the worker that follows a command to the first output that another worker reports of it. */
export async function measureRecovery({ stack, log }: BenchParts): Promise<Measurement[]> {
  const { config } = stack;
  const environment = { ...process.env, ...stack.environment, LONGSHORE_AGENTS: AGENTS };
  const workers = new Map<number, ChildProcess>();
  const start = async () => {
    const worker = await startWorker(environment);
    workers.set(worker.pid ?? 0, worker);
  };
  const temporal = await Connection.connect({ address: config.TEMPORAL_ADDRESS });
  const { workflow } = new Client({ connection: temporal, namespace: config.TEMPORAL_NAMESPACE });
  const parts = { temporalAddress: config.TEMPORAL_ADDRESS, databaseUrl: config.DATABASE_URL, taskQueue: config.LONGSHORE_TASK_QUEUE, agents: AGENTS, log };
  await using longshore = await connect(parts);
  const samples: number[] = [];
  try {
    await Promise.all([start(), start()]);
    const chat = await longshore.start({ agent: 'counter', user: 'bench', message: 'Go.' });
    for (let round = 0; round < ROUNDS; round += 1) {
      await outputAfter(chat, Date.now());
      const { raw } = await workflow.getHandle(chat.id).describe();
      const pid = Number.parseInt(raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '', 10);
      const follower = workers.get(pid);
      if (follower === undefined) throw new Error(`no worker of this benchmark follows the command, but process ${pid}`);
      const killedMs = Date.now();
      await kill(follower);
      workers.delete(pid);
      samples.push((await outputAfter(chat, killedMs + UNDER_WAY_MS)) - killedMs);
      await start();
    }
    await chat.interrupt();
    await chat.close();
    for await (const event of chat.events()) if (event.type === 'conversation.closed') break;
  } finally {
    for (const worker of workers.values()) await kill(worker);
    await temporal.close();
  }
  return [
    compareWithLimit({ name: 'recovery', unit: 'ms', limit: MEDIAN_LIMIT_MS }, samples),
    compareWithLimit({ name: 'recovery p95', unit: 'ms', limit: MOST_LIMIT_MS }, [percentile(samples, 95)]),
  ];
}

/** When the first output after the given time was reported. */
async function outputAfter(chat: Chat, afterMs: number): Promise<number> {
  for await (const { type, at } of chat.events()) {
    const reportedMs = Date.parse(at);
    if (type === 'tool.output' && reportedMs > afterMs) return reportedMs;
  }
  throw new Error('the command has ended');
}

async function startWorker(environment: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const worker = spawn(process.execPath, ['--import', 'tsx', WORKER], {
    env: { ...environment, LONGSHORE_LOG_LEVEL: 'info' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    worker.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('worker ready')) resolve();
    });
    worker.once('exit', (code) => reject(new Error(`a worker ended (${code}): ${said.slice(-2000)}`)));
  });
  return worker;
}

async function kill(worker: ChildProcess): Promise<void> {
  const ended = once(worker, 'exit');
  worker.kill('SIGKILL');
  await ended;
}
