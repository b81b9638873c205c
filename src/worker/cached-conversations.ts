import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** What a worker holds without any conversation, and for each that it has in memory, as it was measured; a half is left to turns that run. */
const MIB = { worker: 400, conversation: 2 };
const LEAST = 50;
const MOST = 1_000;

/** How many conversations a worker with so much memory keeps in it, unless a setting says otherwise. */
export function cachedConversations(memoryBytes = memoryOfProcess()): number {
  const fitting = Math.floor((memoryBytes / 2 ** 20 - MIB.worker) / MIB.conversation);
  return Math.min(MOST, Math.max(LEAST, fitting));
}

/** What the machine, the container and Node.js let this process have. Where nothing limits the container, its number is 0 or larger than any machine. */
function memoryOfProcess(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Infinity, getHeapStatistics().heap_size_limit);
}
