import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { insist } from './insist.ts';
import { PULSE } from './kinds/kinds.ts';
import { seconds } from './seconds.ts';
import type { Verdict } from './verdict.ts';
import type { World } from './world.ts';

/** Milliseconds from the end of a fault. */
export interface Recovery {
  /** Until a conversation that began then was answered. */
  newMs: number;
  /** Until each conversation whose turn was running then has gone on. */
  oldMs: number;
  /** The conversation that went on last, and its newest call; '' when none was under way. */
  last: string;
}

const LIMIT_MS = 90_000;
/**
 * Those that wait for a sub-agent go on when that has ended, and those that wait for memory of a host when others have ended. A worker that has a call which may not be
 * repeated is given up after 30 s, for which its conversation waits: also when it has not begun the call yet, or has not reported its end to Temporal.
 */
const RUNNING = `select conversation_id as id, event_seq as seq from conversations c where state = 'running' and not exists
  (select from conversations b where b.state <> 'closed' and b.status::jsonb -> 'parent' ->> 'conversationId' = c.conversation_id)
  and not exists (select from room_waits w where w.waiter = c.conversation_id)
  and not exists (select from tool_calls t where t.conversation_id = c.conversation_id and t.tool in ('chaos:once', 'chaos:bloat')
    and (t.state in ('proposed', 'running') or t.finished_at > clock_timestamp() - interval '10 seconds'))`;
const NEWEST_CALL = `select tool || ', ' || state as call from tool_calls where conversation_id = $1 order by requested_at desc limit 1`;

export async function measureRecovery(world: World): Promise<Recovery> {
  const begun = performance.now();
  const since = () => performance.now() - begun;
  const [newMs, old] = await Promise.all([pulse(world).then(since), untilMoved(world).then((last) => ({ oldMs: since(), last }))]);
  return { newMs, ...old };
}

export function describeRecovery({ newMs, oldMs }: Recovery): string {
  return `${seconds(newMs)} until a new conversation was answered, ${seconds(oldMs)} until all that were under way went on`;
}

/** A recovery that takes longer than the limit breaks a rule. */
export function judgeRecovery(verdict: Verdict, { newMs, oldMs, last }: Recovery, { limitMs, after }: { limitMs: number; after: string }): void {
  const late = Math.max(newMs, oldMs);
  if (late <= limitMs) return;
  const what = newMs > oldMs ? 'a new conversation' : last;
  verdict.add({ rule: 'recovery', what: `after ${after} it took ${seconds(late)}, for ${what}; ${seconds(limitMs)} are allowed` });
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

/** Gives the conversation that went on last. */
async function untilMoved({ records }: World): Promise<string> {
  let late = await records.query<{ id: string; seq: number }>(RUNNING);
  let last = '';
  for (const end = performance.now() + LIMIT_MS; late[0] && performance.now() < end; await sleep(100)) {
    const [newest] = await records.query<{ call: string }>(NEWEST_CALL, [late[0].id]);
    last = `${late[0].id} (${newest?.call ?? 'no call'})`;
    const now = new Map((await records.query<{ id: string; seq: number }>(RUNNING)).map(({ id, seq }) => [id, seq]));
    late = late.filter(({ id, seq }) => now.get(id) === seq);
  }
  return last;
}
