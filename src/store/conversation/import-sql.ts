import { insertEvents } from '../database/event-sql.ts';

/**
 * An attempt at the same import that has not completed gives way to this one. One that completes in this moment takes its mark from the conversation, whose row alone is read
 * again after waiting for it.
 */
export const GIVE_WAY = `delete from conversations c using imports i
  where c.conversation_id = $1 and c.removing_at is not null and i.conversation_id = c.conversation_id and i.report is null and i.digest = $2 and c.tenant_id = $3`;

/** The row is one of a conversation that is being removed, a day later, until the import is complete. */
export const BEGIN = `with made as (
    insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status, removing_at)
    values ($1, $2, $3, $4, 'closed', $5, clock_timestamp() + interval '1 day') on conflict do nothing returning conversation_id
  )
  insert into imports (conversation_id, source_id, exported_at, digest, attempt) select conversation_id, $6, $7, $8, $9 from made returning 1`;

/** The import, while it is the attempt `$2` that may add to it. Others wait until the statement has ended. */
const PLACE = `place as (
    select i.conversation_id from imports i join conversations c using (conversation_id)
    where i.conversation_id = $1 and i.attempt = $2 and i.report is null and c.removing_at > clock_timestamp() for no key update of c
  )`;

export const ADD_ENTRIES = `with ${PLACE}, added as (
    insert into transcript (conversation_id, seq, key, turn_id, step_id, at, entry, rewound)
    select place.conversation_id, (item->>'seq')::integer, 'imported-' || (item->>'seq'), item->>'turnId', item->>'stepId', (item->>'at')::timestamptz,
      item->'entry', coalesce((item->>'rewound')::boolean, false)
    from place cross join json_array_elements($3::json) item
  )
  update conversations c set transcript_seq = $4, stored_bytes = stored_bytes + octet_length($3::json::text) from place
  where c.conversation_id = place.conversation_id returning 1`;

export const ADD_EVENTS = `with ${PLACE}, added as (
    insert into earlier_events (conversation_id, number, bytes, lines) select conversation_id, $3, $4, $5::bytea from place
  )
  update conversations c set stored_bytes = stored_bytes + octet_length($5::bytea) from place where c.conversation_id = place.conversation_id returning 1`;

/** The sandbox that has the files belongs to the conversation from now on, and no longer expires. */
export const COMPLETE = `with ${PLACE}, adopted as (
    update sandboxes s set conversation_id = place.conversation_id, expires_at = null from place join conversations c using (conversation_id)
    where s.sandbox_id = $6 and s.conversation_id is null and s.tenant_id = c.tenant_id returning s.conversation_id
  ), counter as (
    update conversations c set state = $3, status = $4, removing_at = null, created_at = clock_timestamp(), updated_at = clock_timestamp(),
      event_seq = json_array_length($5::json), stored_bytes = stored_bytes + octet_length($5::json::text)
    from place where c.conversation_id = place.conversation_id and ($6::text is null or exists (select from adopted))
    returning c.conversation_id, c.event_seq, c.transcript_seq
  ), logged as (${insertEvents('$5')}
  ), marked as (
    update imports set report = $7 from counter where imports.conversation_id = counter.conversation_id
  ), taken_back as (
    insert into rewinds (conversation_id, after_seq, hidden)
    select conversation_id, counter.transcript_seq, hidden.numbers from counter cross join (
      select array_agg(seq order by seq) as numbers from transcript where conversation_id = $1 and rewound
    ) hidden where hidden.numbers is not null
  )
  select 1 from counter`;

export const ABANDON = `with ${PLACE} delete from conversations using place where conversations.conversation_id = place.conversation_id`;

export const GET = `select i.source_id, i.exported_at, i.digest, i.report, c.tenant_id, c.user_id
  from imports i join conversations c using (conversation_id) where i.conversation_id = $1`;

export const EARLIER_BYTES = 'select coalesce(sum(bytes), 0)::float8 as bytes from earlier_events where conversation_id = $1';

/** Pieces are numbered from 1 without gaps. */
export const EARLIER_EVENTS = 'select lines from earlier_events where conversation_id = $1 and number = $2';
