import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { insist } from './insist.ts';
import { PULSE } from './kinds/kinds.ts';
import type { World } from './world.ts';

/** Milliseconds from the end of a fault. */
export interface Recovery {
  /** Until a conversation that began then was answered. */
  newMs: number;
  /** Until each conversation whose turn was running then has gone on. */
  oldMs: number;
}

const LIMIT_MS = 90_000;
/**
 * Those that wait for a sub-agent go on when that has ended, and those that wait for memory of a host when others have ended. A worker that runs a call which may not be
 * repeated is given up after 30 s, for which its conversation waits.
 */
const RUNNING = `select conversation_id as id, event_seq as seq from conversations c where state = 'running' and not exists
  (select from conversations b where b.state <> 'closed' and b.status::jsonb -> 'parent' ->> 'conversationId' = c.conversation_id)
  and not exists (select from room_waits w where w.waiter = c.conversation_id)
  and not exists (select from tool_calls t where t.conversation_id = c.conversation_id and t.state = 'running' and t.tool in ('chaos:once', 'chaos:bloat'))`;

export async function measureRecovery(world: World): Promise<Recovery> {
  const begun = performance.now();
  const since = () => performance.now() - begun;
  const [newMs, oldMs] = await Promise.all([pulse(world).then(since), untilMoved(world).then(since)]);
  return { newMs, oldMs };
}

async function pulse({ longshore }: World): Promise<void> {
  const conversationId = `pulse-${randomUUID()}`;
  const signal = AbortSignal.timeout(LIMIT_MS);
  const { message } = PULSE.pulse.turns[0]!;
  try {
    const chat = await insist(signal, () => longshore.start({ agent: 'pulse', user: 'ann', conversationId, message, closeWhenDone: true }));
    await insist(signal, () => chat.reply());
  } catch (error) {
    // The time is measured all the same, and is too long.
    if (!signal.aborted) throw error;
  }
}

async function untilMoved({ records }: World): Promise<void> {
  const before = await records.query<{ id: string; seq: number }>(RUNNING);
  for (const end = performance.now() + LIMIT_MS; performance.now() < end; await sleep(100)) {
    const now = new Map((await records.query<{ id: string; seq: number }>(RUNNING)).map(({ id, seq }) => [id, seq]));
    if (before.every(({ id, seq }) => now.get(id) !== seq)) return;
  }
}
