import { connect, type Chat } from '../../src/client.ts';
import { compare, type BenchmarkResult } from '../measure.ts';
import { clientOptions, type BenchParts } from '../parts.ts';
import { isHidden, proportionalSetSizeMib } from '../process-memory.ts';
import { inParallel } from './in-parallel.ts';
import { timeOfTurn } from './open-conversations.ts';
import { startWorkerProcess } from './worker-process.ts';

const CACHED = 150;
const OPEN = 600;
const ROUNDS = 3;

/** Four times as many open conversations as a worker keeps in its memory: how much it grows by the others, and what a turn costs that brings its conversation back. */
export async function measureCachedConversations({ stack, log }: BenchParts): Promise<BenchmarkResult> {
  try {
    await using worker = await startWorkerProcess(stack, { LONGSHORE_CACHED_CONVERSATIONS: String(CACHED) });
    await using longshore = await connect(clientOptions(stack, log));
    const start = () => longshore.start({ agent: 'greeter', user: 'bench' });
    const under = async (chats: Chat[]) => {
      const turns: number[] = [];
      const memory: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        turns.push(await timeOfTurn(chats));
        memory.push(await proportionalSetSizeMib(worker.pid));
      }
      return { turns, memory };
    };
    const chats = await inParallel(CACHED, start);
    const kept = await under(chats);
    chats.push(...(await inParallel(OPEN - CACHED, start)));
    const beyond = await under(chats);
    await inParallel(OPEN, async (index) => chats[index]?.close());
    const baselineIs = `the same among the ${CACHED} that the worker may keep`;
    return [
      compare({ name: 'memory beyond the cache', goal: 1.2, unit: 'MiB', baselineIs }, { subject: beyond.memory, baseline: kept.memory }),
      compare({ name: 'turn beyond the cache', unit: 'ms', baselineIs }, { subject: beyond.turns, baseline: kept.turns }),
    ];
  } catch (error) {
    if (isHidden(error)) return { skipped: 'the memory of other processes can be read by root' };
    throw error;
  }
}
