import { failure } from '../contracts/errors.ts';
import type { TranscriptEntry } from '../contracts/transcript.ts';
import type { Announcer } from './database/announcer.ts';
import type { Database } from './database/database.ts';
import { toJsonText } from './database/json-text.ts';
import { appendingOnce, countEvents, eventsText, insertEvents, NEW_EVENTS, newEvents } from './database/event-sql.ts';
import type { Store } from './store.ts';

/** Whether the statement replaces the status: always, or when it is the one that logs the events. */
const REPLACES = `($8::boolean or json_array_length(${NEW_EVENTS}) > 0)`;

const ACCEPT = `with ${newEvents('$4')}, new_entry as materialized (
    select $7::json as entry where not exists (select 1 from transcript where conversation_id = $1 and key = $6)
  ), counter as (
    update conversations set state = case when ${REPLACES} then $2 else state end, status = case when ${REPLACES} then $3::json else status end,
      updated_at = clock_timestamp(), transcript_seq = transcript_seq + (select count(*) from new_entry),
      ${countEvents(NEW_EVENTS)} + coalesce((select octet_length(entry::text) from new_entry), 0)
    where conversation_id = $1 returning conversation_id, event_seq, transcript_seq
  ), logged as (${insertEvents(NEW_EVENTS)}
  ), added as (
    insert into transcript (conversation_id, seq, key, turn_id, at, entry)
    select conversation_id, transcript_seq, $6, $5, clock_timestamp(), entry from counter cross join new_entry
  )
  select 1 from counter`;

export function createMessageAcceptance({ database, announcer }: { database: Database; announcer: Announcer }): Pick<Store['conversations'], 'acceptMessage'> {
  return {
    async acceptMessage({ turnId, messageId, text, attachments, clientTools, events, status, replaces }) {
      const { conversationId } = status;
      const entry: TranscriptEntry = {
        role: 'user',
        content: [...(text === '' && attachments.length > 0 ? [] : [{ type: 'text' as const, text }]), ...attachments],
        ...(clientTools && { clientTools }),
      };
      const values = [conversationId, status.state, toJsonText(status), eventsText(events), turnId, messageId, toJsonText(entry), replaces === 'always'];
      const found = await appendingOnce(() => database.query('conversations.acceptMessage', ACCEPT, values));
      if (found.length === 0) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      announcer.announce(conversationId);
    },
  };
}
