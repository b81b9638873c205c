import { Context } from '@temporalio/activity';
import type { ConversationEvent } from '../contracts/events.ts';
import type { Json } from '../contracts/json.ts';
import type { NewEvent, Store } from '../store/store.ts';

/** Clocks of Temporal and Postgres may differ by this much. */
const SKEW_MS = 5000;

/**
 * Leaves out the events that an earlier attempt of this activity had appended before it lost its way home. Events have no keys of their own,
 * so a retry, and only a retry, reads the log.
 */
export async function withoutAppended(store: Store, conversationId: string, events: NewEvent[]): Promise<NewEvent[]> {
  const { attempt, scheduledTimestampMs } = Context.current().info;
  if (attempt === 1 || events.length === 0) return events;
  const appended = new Set<string>();
  for (let after = 0; ;) {
    const page = await store.events.read(conversationId, after);
    for (const event of page) if (Date.parse(event.at) >= scheduledTimestampMs - SKEW_MS) appended.add(identityOf(event));
    const last = page.at(-1);
    if (!last) break;
    after = last.seq;
  }
  return events.filter((event) => !appended.has(identityOf(event)));
}

function identityOf({ type, turnId, data }: Pick<ConversationEvent | NewEvent, 'type' | 'turnId' | 'data'>): string {
  return JSON.stringify([type, turnId ?? null, sorted(data)]);
}

/** Postgres gives keys back in its own order. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.keys(value)
    .toSorted()
    .map((key) => [key, sorted(value[key] ?? null)]);
}
