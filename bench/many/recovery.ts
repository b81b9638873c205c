import { Client, Connection } from '@temporalio/client';
import { connect, type Chat } from '../../src/client.ts';
import { compareWithLimit, percentile, type Measurement } from '../measure.ts';
import { clientOptions, type BenchParts } from '../parts.ts';
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts';

const ROUNDS = 15;
const MEDIAN_LIMIT_MS = 6_000;
const MOST_LIMIT_MS = 12_000;
/** What the killed worker has sent to Postgres is stored by then. */
const UNDER_WAY_MS = 250;

/** From the `kill -9` of the worker that follows a command to the first output that another worker reports of it. */
export async function measureRecovery({ stack, log }: BenchParts): Promise<Measurement[]> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = stack.config;
  const temporal = await Connection.connect({ address });
  const { workflow } = new Client({ connection: temporal, namespace });
  await using longshore = await connect(clientOptions(stack, log));
  const workers = new Map<number, WorkerProcess>();
  const start = async () => {
    const worker = await startWorkerProcess(stack);
    workers.set(worker.pid, worker);
  };
  const samples: number[] = [];
  try {
    await Promise.all([start(), start()]);
    const chat = await longshore.start({ agent: 'counter', user: 'bench', message: 'Go.' });
    for (let round = 0; round < ROUNDS; round += 1) {
      await outputAfter(chat, Date.now());
      const { raw } = await workflow.getHandle(chat.id).describe();
      const pid = Number.parseInt(raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '', 10);
      const follower = workers.get(pid);
      if (follower === undefined) throw new Error(`the command is followed by process ${pid}, which is no worker of this benchmark`);
      const killedMs = Date.now();
      await follower.kill();
      workers.delete(pid);
      samples.push((await outputAfter(chat, killedMs + UNDER_WAY_MS)) - killedMs);
      await start();
    }
    await chat.interrupt();
    await chat.close();
    for await (const event of chat.events()) if (event.type === 'conversation.closed') break;
  } finally {
    for (const worker of workers.values()) await worker.kill();
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
