import { connect, type Chat } from '../../src/client.ts';
import { compare, type BenchmarkResult } from '../measure.ts';
import { clientOptions, type BenchParts } from '../parts.ts';
import { isHidden, proportionalSetSizeMib } from '../process-memory.ts';
import { inParallel } from './in-parallel.ts';
import { timeOfTurn } from './open-conversations.ts';
import { startWorkerProcess } from './worker-process.ts';

const CACHED = 100;
/** Open conversations: as many as are kept; more, so that each is brought back for its turn; and three times as many as those. */
const [KEPT, SOME, MOST] = [CACHED, 2 * CACHED, 6 * CACHED];
const ROUNDS = 3;

/** More open conversations than a worker keeps in its memory: how much it grows by more of them, and what a turn costs that brings its conversation back. */
export async function measureCachedConversations({ stack, log }: BenchParts): Promise<BenchmarkResult> {
  try {
    await using worker = await startWorkerProcess(stack, { LONGSHORE_CACHED_CONVERSATIONS: String(CACHED) });
    await using longshore = await connect(clientOptions(stack, log));
    const chats: Chat[] = [];
    const under = async (open: number) => {
      chats.push(...(await inParallel(open - chats.length, () => longshore.start({ agent: 'greeter', user: 'bench' }))));
      const turns: number[] = [];
      const memory: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        turns.push(await timeOfTurn(chats));
        memory.push(await proportionalSetSizeMib(worker.pid));
      }
      return { turns, memory };
    };
    const kept = await under(KEPT);
    const some = await under(SOME);
    const most = await under(MOST);
    await inParallel(MOST, async (index) => chats[index]?.close());
    const baselineIs = `a turn of one of ${KEPT} conversations in memory`;
    return [
      compare(
        { name: 'memory beyond the cache', goal: 1.1, unit: 'MiB', baselineIs: `the same with ${SOME} open conversations` },
        { subject: most.memory, baseline: some.memory },
      ),
      compare({ name: 'turn beyond the cache', unit: 'ms', baselineIs }, { subject: most.turns, baseline: kept.turns }),
    ];
  } catch (error) {
    if (isHidden(error)) return { skipped: 'the memory of other processes can be read by root' };
    throw error;
  }
}
