import { Client, Connection } from '@temporalio/client';
import { startBenchWorker } from './bench-worker.ts';
import { compare, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

const TURNS = 204;
/** Turns on either side of the one that is looked at: single turns differ by a few bytes. */
const AROUND = 4;

/** Bytes that one turn adds to the workflow's history, late in a long conversation against early. */
export async function measureHistoryBytes(parts: BenchParts): Promise<Measurement[]> {
  await using worker = await startBenchWorker(parts);
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = parts.stack.config;
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  const chat = await worker.longshore.start({ agent: 'talker', user: 'bench' });
  const bytesOfTurn: number[] = [];
  let before = await sizeOf(client, chat.id);
  for (let turn = 1; turn <= TURNS; turn++) {
    const { turnId } = await chat.send('Run the command.');
    await chat.reply(turnId);
    const after = await sizeOf(client, chat.id);
    // A run that continues as new starts with an empty history: that turn cannot be told.
    bytesOfTurn[turn] = after.runId === before.runId ? after.bytes - before.bytes : Number.NaN;
    before = after;
  }
  await chat.close();
  for await (const event of chat.events()) if (event.type === 'conversation.closed') break;
  await connection.close();
  const around = (turn: number) => bytesOfTurn.slice(turn - AROUND, turn + AROUND + 1).filter((bytes) => !Number.isNaN(bytes));
  return [
    compare(
      { name: 'history-bytes', goal: 1.05, unit: 'bytes', baselineIs: 'turn 10 of the same conversation' },
      { subject: around(200), baseline: around(10) },
    ),
  ];
}

async function sizeOf(client: Client, workflowId: string): Promise<{ runId: string; bytes: number }> {
  const { runId, historySize } = await client.workflow.getHandle(workflowId).describe();
  return { runId, bytes: historySize ?? 0 };
}
