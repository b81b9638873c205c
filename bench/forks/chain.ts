import type { Store } from '../../src/store/store.ts';
import type { ConversationStatus } from '../../src/client.ts';
import { compare, timed, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';

const DEPTHS = [1, 100, 1000];
const ROUNDS = 20;
/** About as much as a step says. */
const TEXT = 'x'.repeat(500);

/**
 * A chain of forks, each of the one before and with an entry of its own, without workflows and sandboxes. Reading the transcript of the last one and forking it, each
 * against the same with a conversation that has as many entries of its own.
 */
export async function measureForkChain({ store }: Pick<BenchParts, 'store'>): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  let last = await begin(store);
  await say(store, last, 1);
  for (let depth = 1; depth <= Math.max(...DEPTHS); depth += 1) {
    last = await fork(store, last, depth);
    await say(store, last, depth + 1);
    if (DEPTHS.includes(depth)) measurements.push(...(await measureAt(store, last, depth)));
  }
  return measurements;
}

async function measureAt(store: Store, last: string, depth: number): Promise<Measurement[]> {
  const plain = await begin(store);
  for (let entry = 1; entry <= depth + 1; entry += 1) await say(store, plain, entry);
  const read = { subject: [] as number[], baseline: [] as number[] };
  const made = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [kind, id] of [
      ['subject', last],
      ['baseline', plain],
    ] as const) {
      read[kind].push(await timed(async () => expectEntries(await store.transcript.read(id), depth + 1)));
      made[kind].push(await timed(() => fork(store, id, depth + 1)));
    }
  }
  const baselineIs = `a conversation with ${depth + 1} entries of its own`;
  return [
    compare({ name: `fork-read-${depth}`, unit: 'ms', goal: 2, baselineIs }, read),
    compare({ name: `fork-make-${depth}`, unit: 'ms', baselineIs }, made),
  ];
}

function expectEntries(entries: unknown[], count: number): void {
  if (entries.length !== count) throw new Error(`${entries.length} entries were read, not ${count}`);
}

let made = 0;
function newStatus(): ConversationStatus {
  const [conversationId, none] = [`conv_bench_chain_${(made += 1)}`, { turnsUsed: 0, stepsUsed: 0, tokensUsed: 0, workedMs: 0 }];
  const who = { agentId: 'bench', userId: 'bench', tenantId: 'bench' };
  return { conversationId, ...who, state: 'idle', queued: 0, ...none, sandboxTier: 'none', pendingApprovals: [], runningCalls: [] };
}

async function begin(store: Store): Promise<string> {
  const status = newStatus();
  await store.conversations.create({ ...status, status });
  return status.conversationId;
}

async function fork(store: Store, source: string, transcriptSeq: number): Promise<string> {
  const status = newStatus();
  const place = { conversationId: source, transcriptSeq, hidden: [], files: 'none' as const, isShown: true };
  await store.forks.create({ ...status, status }, place, []);
  return status.conversationId;
}

async function say({ transcript }: Store, conversationId: string, number: number): Promise<void> {
  await transcript.append(conversationId, `turn_${number}`, undefined, `said_${number}`, { role: 'user', content: [{ type: 'text', text: TEXT }] });
}
