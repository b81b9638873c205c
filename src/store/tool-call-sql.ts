import { insertEvents } from './event-sql.ts';

const COLUMNS =
  'call_id, conversation_id, turn_id, step_id, tool, arguments, hash, state, fence, content, is_error, requested_at, started_at, finished_at, parent_call_id, value';

/** Takes the calls as one JSON text, in the order in which the model asked for them. */
export const PROPOSE = `insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash)
  select item.value->>'callId', item.value->>'conversationId', item.value->>'turnId', item.value->>'stepId', item.position,
    item.value->>'tool', item.value->'arguments', item.value->>'hash'
  from json_array_elements($1::json) with ordinality as item (value, position)
  on conflict do nothing`;

/** As `PROPOSE_METHOD` and `CLAIM` in one, for a call that is new. Nothing for one that exists. */
export const CLAIM_METHOD = `with claimed as (
    insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash, parent_call_id, state, fence, started_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'running', 1, clock_timestamp())
    on conflict do nothing
    returning ${COLUMNS}
  ), counter as (
    update conversations set event_seq = event_seq + json_array_length($10::json) from claimed
    where conversations.conversation_id = claimed.conversation_id
    returning conversations.conversation_id, event_seq
  ), logged as (${insertEvents('$10')})
  select ${COLUMNS} from claimed`;

/** One call of code in a sandbox, with its events when it is new. */
export const PROPOSE_METHOD = `with proposed as (
    insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash, parent_call_id)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    on conflict do nothing
    returning conversation_id
  ), counter as (
    update conversations set event_seq = event_seq + json_array_length($10::json) from proposed
    where conversations.conversation_id = proposed.conversation_id
    returning conversations.conversation_id, event_seq
  ), logged as (${insertEvents('$10')})
  select conversation_id from proposed`;

export const GET = `select ${COLUMNS} from tool_calls where call_id = $1`;

export const OF_STEP = `select ${COLUMNS} from tool_calls where conversation_id = $1 and step_id = $2 order by position`;

/**
 * One round trip: claim, else look. The events go with the first claim only: attaching again starts nothing.
 * `event_seq` moves in the same statement as the claim, see `insertEvents`.
 */
export const CLAIM = `with claimed as (
    update tool_calls set state = 'running', fence = fence + 1, started_at = coalesce(started_at, clock_timestamp())
    where call_id = $1 and hash = $2 and state in ('proposed', 'running') returning ${COLUMNS}
  ), counter as (
    update conversations set event_seq = event_seq + json_array_length($3::json) from claimed
    where conversations.conversation_id = claimed.conversation_id and claimed.fence = 1 and json_array_length($3::json) > 0
    returning conversations.conversation_id, event_seq
  ), logged as (${insertEvents('$3')})
  select ${COLUMNS}, true as claimed from claimed
  union all
  select ${COLUMNS}, false from tool_calls where call_id = $1 and not exists (select 1 from claimed)`;

/** One round trip: result, transcript entry and events, or nothing at all. What code asked for is not for the transcript. */
export const SETTLE = `with settled as (
    update tool_calls set state = $3, content = $4, is_error = $5, value = $7, finished_at = clock_timestamp()
    where call_id = $1 and state in ('proposed', 'running') and ($2::integer is null or fence = $2)
    returning call_id, conversation_id, turn_id, step_id, tool, parent_call_id
  ), counter as (
    update conversations set event_seq = event_seq + json_array_length($6::json), 
      transcript_seq = transcript_seq + case when settled.parent_call_id is null then 1 else 0 end
    from settled
    where conversations.conversation_id = settled.conversation_id
    returning conversations.conversation_id, event_seq, transcript_seq
  ), entered as (
    insert into transcript (conversation_id, seq, key, turn_id, step_id, at, entry)
    select counter.conversation_id, counter.transcript_seq, settled.call_id, settled.turn_id, settled.step_id, clock_timestamp(),
      json_build_object('role', 'tool', 'callId', settled.call_id, 'tool', settled.tool, 'content', $4::json, 'isError', $5::boolean)
    from counter cross join settled where settled.parent_call_id is null
    on conflict (conversation_id, key) do nothing
  ), logged as (${insertEvents('$6')})
  select conversation_id from settled`;

export const EDIT = `update tool_calls set arguments = $2, hash = $3 where call_id = $1 and state = 'proposed' returning call_id`;
