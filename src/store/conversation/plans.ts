import type { PlanItem } from '../../contracts/plan/plan.ts';
import type { Announcer } from '../database/announcer.ts';
import type { Database } from '../database/database.ts';
import { entriesOf } from '../database/entries-of.ts';
import { appendingOnce, countEvents, eventsText, insertEvents, NEW_EVENTS, newEvents } from '../database/event-sql.ts';
import { toJsonText } from '../database/json-text.ts';

/** The plans of agents. */
export interface Plans {
  /** Replaces the plan of a conversation, with the event `plan.changed`, in one transaction: once for each call. */
  write(place: { conversationId: string; turnId: string; callId: string }, items: PlanItem[]): Promise<void>;
  /** The newest one; undefined when there is none. */
  newest(conversationId: string): Promise<PlanItem[] | undefined>;
}

const WRITE = `with ${newEvents('$2')}, counter as (
    update conversations set ${countEvents(NEW_EVENTS)} + octet_length($4::json::text)
    where conversation_id = $1 and json_array_length(${NEW_EVENTS}) > 0 returning conversation_id, event_seq, transcript_seq
  ), logged as (${insertEvents(NEW_EVENTS)}
  ), added as (
    insert into plans (conversation_id, number, call_id, after_seq, items)
    select conversation_id, (select coalesce(max(number), 0) + 1 from plans where conversation_id = $1), $3, transcript_seq, $4::json from counter
  )
  select 1 from counter`;

/** A query for the items of the newest plan of a conversation. @param conversation its id, in SQL */
export function newestPlan(conversation: string): string {
  return `select p.items from plans p where p.conversation_id = ${conversation}
    and not exists (select from ${entriesOf('p.conversation_id', 'seq = p.after_seq and rewound')} taken)
    order by p.number desc limit 1`;
}

export function createPlans({ database, announcer }: { database: Database; announcer: Announcer }): Plans {
  return {
    async write({ conversationId, turnId, callId }, items) {
      const event = { type: 'plan.changed' as const, turnId, data: { callId, items }, key: `plan.changed/${callId}` };
      const values = [conversationId, eventsText([event]), callId, toJsonText(items)];
      const written = await appendingOnce(() => database.query('plans.write', WRITE, values));
      if (written.length > 0) announcer.announce(conversationId);
    },
    async newest(conversationId) {
      const [row] = await database.query<{ items: PlanItem[] }>('plans.newest', newestPlan('$1'), [conversationId]);
      return row?.items;
    },
  };
}
