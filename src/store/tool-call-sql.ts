import { countEvents, insertEvents } from './database/event-sql.ts';

const PARTS =
  'call_id, conversation_id, turn_id, step_id, tool, arguments, hash, state, fence, is_error, requested_at, started_at, finished_at, parent_call_id, value';

/** Columns of a call that runs. */
const COLUMNS = `${PARTS}, content`;
/** The same where another table is joined. */
const RETURNED = COLUMNS.replace('conversation_id', 'tool_calls.conversation_id');

/**
 * The content that a model reads is stored once, in the transcript. Arguments of the model's calls are in both: this table has those that the call runs with,
 * including defaults and edits, and the transcript has those that the model wrote.
 */
const STORED = `${PARTS}, coalesce(content, (select entry->'content' from transcript
    where transcript.conversation_id = tool_calls.conversation_id and transcript.key = tool_calls.call_id and tool_calls.parent_call_id is null)) as content`;

/**
 * What comes from a container counts while the sandbox has the files of that container: as long as the files are kept, what it did remains true, also when another
 * container has them by now. `fence` is the number of the container.
 */
function countsFrom(sandboxId: string, fence: string): string {
  return `not exists (select from sandboxes s where s.sandbox_id = ${sandboxId}::text and s.volume_fence > ${fence}::integer)`;
}
/** Locks the conversation's row while there is room, so that concurrent calls exceed the budget by at most one of them. */
const ROOM = `room as (
    select conversation_id from conversations where conversation_id = $2 and ($11::bigint is null or stored_bytes < $11) and ${countsFrom('$12', '$13')}
    for no key update
  )`;
/**
 * Locks the conversation's row of a call without a result, before the row of the call. All statements lock in this order: an insert of a call waits for another
 * statement that changes the call, even with `on conflict do nothing`, and it holds the conversation's row by then.
 */
const HELD = `held as (
    select conversation_id from conversations
    where conversation_id = (select conversation_id from tool_calls where call_id = $1 and state in ('proposed', 'running')) for no key update
  )`;
const METHOD_BYTES = 'stored_bytes = stored_bytes + octet_length($7::json::text) + octet_length($10::json::text)';

/** What a result adds to the stored bytes; where its content is the value as text, only the value. */
function resultBytes(content: string, value: string, isOfValue: string): string {
  return `coalesce(octet_length(${value}::json::text), 0) + case when ${isOfValue}::boolean then 0 else octet_length(${content}::json::text) end`;
}

/** Takes the calls as one JSON text, in the order in which the model requested them. */
export const PROPOSE = `with proposed as (
  insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash)
  select item.value->>'callId', item.value->>'conversationId', item.value->>'turnId', item.value->>'stepId', item.position,
    item.value->>'tool', item.value->'arguments', item.value->>'hash'
  from json_array_elements($1::json) with ordinality as item (value, position)
  on conflict do nothing
  returning conversation_id, octet_length(arguments::text) as bytes
  )
  update conversations set stored_bytes = stored_bytes + added.bytes
  from (select conversation_id, sum(bytes) as bytes from proposed group by 1) as added where conversations.conversation_id = added.conversation_id`;

/** As `PROPOSE_METHOD` and `CLAIM` in one, for a new call. Returns no row for an existing one. */
export const CLAIM_METHOD = `with ${ROOM}, claimed as (
    insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash, parent_call_id, state, fence, started_at)
    select $1, conversation_id, $3, $4, $5::integer, $6, $7::json, $8, $9, 'running', 1, clock_timestamp() from room
    on conflict do nothing
    returning ${COLUMNS}
  ), counter as (
    update conversations set event_seq = event_seq + json_array_length($10::json), ${METHOD_BYTES} from claimed
    where conversations.conversation_id = claimed.conversation_id
    returning conversations.conversation_id, event_seq
  ), logged as (${insertEvents('$10')})
  select ${COLUMNS} from claimed`;

/** The same for a new call that has its result already. */
export const RECORD_METHOD = `with ${ROOM}, recorded as (
    insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash, parent_call_id, state, fence, started_at, finished_at,
      content, is_error, value)
    select $1, conversation_id, $3, $4, $5::integer, $6, $7::json, $8, $9, $14, 1, clock_timestamp(), clock_timestamp(),
      case when $18 then null else $15::json end, $16, $17::json from room
    on conflict do nothing
    returning conversation_id
  ), counter as (
    update conversations set event_seq = event_seq + json_array_length($10::json), ${METHOD_BYTES} + ${resultBytes('$15', '$17', '$18')} from recorded
    where conversations.conversation_id = recorded.conversation_id
    returning conversations.conversation_id, event_seq
  ), logged as (${insertEvents('$10')})
  select conversation_id from recorded`;

/** One call of code in a sandbox, with its events when it is new. */
export const PROPOSE_METHOD = `with ${ROOM}, proposed as (
    insert into tool_calls (call_id, conversation_id, turn_id, step_id, position, tool, arguments, hash, parent_call_id)
    select $1, conversation_id, $3, $4, $5::integer, $6, $7::json, $8, $9 from room
    on conflict do nothing
    returning conversation_id
  ), counter as (
    update conversations set event_seq = event_seq + json_array_length($10::json), ${METHOD_BYTES} from proposed
    where conversations.conversation_id = proposed.conversation_id
    returning conversations.conversation_id, event_seq
  ), logged as (${insertEvents('$10')})
  select conversation_id from proposed`;

export const COUNTS = `select ${countsFrom('$1', '$2')} as counts`;

export const GET = `select ${STORED} from tool_calls where call_id = $1`;

export const OF_STEP = `select ${STORED} from tool_calls where conversation_id = $1 and step_id = $2 order by position`;

export const OPEN_OF_CODE = `select call_id, tool, state from tool_calls
  where conversation_id = $1 and step_id = $2 and parent_call_id = $3 and state in ('proposed', 'running') order by position`;

export const OPEN_OF = `select call_id, tool, state, turn_id, step_id from tool_calls
  where conversation_id = $1 and state in ('proposed', 'running') order by parent_call_id is null, requested_at, position`;

/** Whether the sandbox that a conversation works in is on another host than `$4`. One that is archived or destroyed is on none. */
function isElsewhere(conversationId: string): string {
  return `($4::text is not null and exists (select from conversations c
    join sandboxes s on s.conversation_id = coalesce(c.status->'parent'->'sandbox'->>'conversationId', c.conversation_id)
    where c.conversation_id = ${conversationId} and s.host_id <> $4 and s.state not in ('archived', 'destroyed')))`;
}

/**
 * One round trip: claims the call, else reads it. With a host, a call is claimed only if its sandbox is there or nowhere. The events are appended with the first claim only, because attaching again starts nothing.
 * `event_seq` is updated in the same statement as the claim, see `insertEvents`.
 */
export const CLAIM = `with ${HELD}, claimed as (
    update tool_calls set state = 'running', fence = fence + 1, started_at = coalesce(started_at, clock_timestamp())
    from held where call_id = $1 and tool_calls.conversation_id = held.conversation_id and hash = $2 and state in ('proposed', 'running')
      and not ${isElsewhere('held.conversation_id')} returning ${RETURNED}
  ), counter as (
    update conversations set ${countEvents('$3')} from claimed
    where conversations.conversation_id = claimed.conversation_id and claimed.fence = 1 and json_array_length($3::json) > 0
    returning conversations.conversation_id, event_seq
  ), logged as (${insertEvents('$3')})
  select ${COLUMNS}, true as claimed, false as elsewhere, (extract(epoch from clock_timestamp() - started_at) * 1000)::float8 as age_ms from claimed
  union all
  select ${STORED}, false, ${isElsewhere('tool_calls.conversation_id')}, 0 from tool_calls where call_id = $1 and not exists (select 1 from claimed)`;

/**
 * One round trip: result, transcript entry and events, atomically. The results of code's calls are not in the transcript, and where such content is the value
 * as text (`$10`), only the value is stored.
 */
export const SETTLE = `with ${HELD}, settled as (
    update tool_calls set state = $6, content = case when parent_call_id is null or $10 then null else $7::json end, is_error = $8, value = $9::json, finished_at = clock_timestamp()
    from held where call_id = $1 and tool_calls.conversation_id = held.conversation_id and state in ('proposed', 'running')
      and ($2::integer is null or fence = $2) and ${countsFrom('$4', '$5')}
    returning call_id, tool_calls.conversation_id, turn_id, step_id, tool, parent_call_id
  ), counter as (
    update conversations set event_seq = event_seq + json_array_length($3::json),
      stored_bytes = stored_bytes + octet_length($3::json::text) + ${resultBytes('$7', '$9', 'settled.parent_call_id is not null and $10')},
      transcript_seq = transcript_seq + case when settled.parent_call_id is null then 1 else 0 end
    from settled
    where conversations.conversation_id = settled.conversation_id
    returning conversations.conversation_id, event_seq, transcript_seq
  ), entered as (
    insert into transcript (conversation_id, seq, key, turn_id, step_id, at, entry)
    select counter.conversation_id, counter.transcript_seq, settled.call_id, settled.turn_id, settled.step_id, clock_timestamp(),
      json_build_object('role', 'tool', 'callId', settled.call_id, 'tool', settled.tool, 'content', $7::json, 'isError', $8::boolean)
    from counter cross join settled where settled.parent_call_id is null
    on conflict (conversation_id, key) do nothing
  ), logged as (${insertEvents('$3')})
  select conversation_id from settled`;

export const EDIT = `with ${HELD}, before as (
    select call_id, octet_length(arguments::text) as bytes from tool_calls join held using (conversation_id)
    where call_id = $1 and state = 'proposed' for update of tool_calls
  ), edited as (
    update tool_calls set arguments = $2::json, hash = $3 from before
    where tool_calls.call_id = before.call_id returning conversation_id, octet_length($2::json::text) - before.bytes as added
  ), counter as (
    update conversations set stored_bytes = stored_bytes + edited.added from edited where conversations.conversation_id = edited.conversation_id
  )
  select conversation_id from edited`;
