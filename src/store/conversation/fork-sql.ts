import { entriesOf } from '../database/entries-of.ts';
import { insertEvents } from '../database/event-sql.ts';

/**
 * Makes the conversation of a fork, unless its id is taken or its source is being removed. Those that have the entries are locked, so that none of them can
 * be marked for removal until the fork is known; one that is marked, or gone since the parts were read, refuses the fork.
 */
export const CREATE_FORK = `with source as materialized (
    select conversation_id, event_seq from conversations where conversation_id = $8 and removing_at is null for no key update
  ), inherited as materialized (
    select p.* from transcript_parts p join source on p.conversation_id = source.conversation_id where p.after_seq < $9
  ), sharing as materialized (
    select conversation_id, removing_at from conversations where conversation_id in (select source_id from inherited) order by conversation_id for share
  ), allowed as (
    select source.* from source where (select count(*) from sharing where removing_at is null) = (select count(distinct source_id) from inherited)
  ), counter as (
    insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status, event_seq, transcript_seq, stored_bytes)
    select $1, $2, $3, $4, $5, $6, json_array_length($7::json), $9, octet_length($7::json::text) from allowed
    on conflict do nothing returning conversation_id, event_seq
  ), logged as (${insertEvents('$7')}
  ), own as (
    select coalesce((select transcript_seq from forks where conversation_id = $8), 0) as after_seq
  ), forked as (
    insert into forks (conversation_id, source_id, transcript_seq, event_seq, result_seq, hidden, files, checkpoint_id)
    select counter.conversation_id, $8, $9, case when $9 <= own.after_seq then 0 else coalesce(
        (select min(e.seq) - 1 from events e where e.conversation_id = $8 and e.type in ('turn.started', 'message.received', 'step.started')
          and e.at > (select max(t.at) from transcript t where t.conversation_id = $8 and t.seq = $9)), allowed.event_seq) end,
      $10, array(select value::integer from json_array_elements_text($11::json)), $12, $13
    from counter cross join own cross join allowed
  ), parts as (
    insert into transcript_parts (conversation_id, after_seq, to_seq, source_id, holder_id)
    select counter.conversation_id, inherited.after_seq, least(inherited.to_seq, $9), inherited.source_id, inherited.holder_id from counter cross join inherited
    union all
    select counter.conversation_id, own.after_seq, $9, $8, null from counter cross join own where own.after_seq < $9
  ), earlier as (
    insert into rewinds (conversation_id, after_seq, hidden)
    select counter.conversation_id, r.after_seq, r.hidden from counter cross join rewinds r where r.conversation_id = $8 and r.after_seq < $9 order by r.number
  ), compacted as (
    insert into compactions (conversation_id, number, compaction_id, at, after_seq, reason, left_out, tokens_before, tokens_after, usage)
    select counter.conversation_id, c.number, c.compaction_id, c.at, c.after_seq, c.reason, c.left_out, c.tokens_before, c.tokens_after, c.usage
    from counter cross join compactions c
    where c.conversation_id = $8 and c.after_seq <= $9
      and (c.undone_after_seq is null or c.undone_after_seq > $9 or (c.undone_after_seq = $9 and not $14::boolean))
  ), skilled as (
    insert into conversation_skills (conversation_id, skills)
    select counter.conversation_id, s.skills from counter cross join conversation_skills s where s.conversation_id = $8
  ), given as (
    insert into media_uses (conversation_id, tenant_id, sha256, media_type, kind, name, by_message, at)
    select counter.conversation_id, u.tenant_id, u.sha256, u.media_type, u.kind, u.name, u.by_message, u.at
    from counter cross join media_uses u where u.conversation_id = $8
  ), planned as (
    insert into plans (conversation_id, number, call_id, at, after_seq, items)
    select counter.conversation_id, p.number, p.call_id, p.at, p.after_seq, p.items from counter cross join plans p
    where p.conversation_id = $8 and p.after_seq <= $9 and p.after_seq::text not in (select value from json_array_elements_text($11::json))
  )
  select exists (select from counter) as created, exists (select from allowed) as allowed, exists (select from conversations where conversation_id = $8) as known`;

/** What a reader needs to find a place: everything of the entries but their content. */
export const OUTLINE = `select seq, turn_id, step_id, entry->>'role' as role, rewound, entry->>'callId' as call_id,
    case when entry->>'role' = 'assistant' then
      (select json_agg(part->>'callId') from json_array_elements(entry->'parts') part where part->>'type' = 'tool-call') end as calls
  from ${entriesOf('$1')} entries order by seq`;

/** In how many conversations the entries up to a place are. */
export const PARTS = `select (select count(*) from transcript_parts where conversation_id = $1 and after_seq < $2)::integer
    + (coalesce((select transcript_seq from forks where conversation_id = $1), 0) < $2)::integer as parts`;

export const HIDDEN_BEFORE = 'select after_seq, hidden from rewinds where conversation_id = $1 order by after_seq, number';

/**
 * Whether something is changing the files of a conversation: a call, of its own or of a sub-agent that shares its sandbox, or a rewind that has not been recorded. `mark`
 * differs with each that begins or ends.
 */
export const ACTIVITY = `with guests as (
    select guest.conversation_id from conversations owner
      join tree_places on root_id = coalesce(owner.status->'parent'->'path'->>0, owner.conversation_id)
      join conversations guest on guest.conversation_id = sub_agent_id and guest.state <> 'closed'
    where owner.conversation_id = $1 and guest.status->'parent'->'sandbox'->>'conversationId' = $1
  ), users as (select $1::text as conversation_id union all select conversation_id from guests)
  select exists (select from tool_calls join users using (conversation_id) where tool_calls.state = 'running') as calls,
    coalesce((select c.rewind_id is not null and not exists (select from events e where e.conversation_id = $1 and e.key = 'rewind/' || c.rewind_id)
      from checkpoints c where c.conversation_id = $1 order by c.event_seq desc, c.number desc limit 1), false) as rewinds,
    (select coalesce(sum(begun.seq * case when users.conversation_id = $1 then 1e6 else 1 end), 0)::float8 from users cross join lateral (
      select max(seq) as seq from events where events.conversation_id = users.conversation_id
        and type in ('tool.started', 'conversation.rewound', 'agent.started', 'agent.ended')) begun) as mark`;

/**
 * `waits`: it is a fork that has no files yet. `had`: it has had a sandbox, uses that of another conversation, was imported, or was removed. That of a closed conversation may belong to another one
 * by now, so its own log is asked.
 */
export const FILES = `select exists (select from forks f join conversations c using (conversation_id) where f.conversation_id = $1 and c.state <> 'closed'
      and not exists (select from events e where e.conversation_id = $1 and e.type in ('fork.ready', 'fork.failed'))) as waits,
    not exists (select from conversations c where c.conversation_id = $1)
      or exists (select from imports i where i.conversation_id = $1)
      or exists (select from events e where e.conversation_id = $1 and e.type = 'sandbox.changed')
      or exists (select from forks f where f.conversation_id = $1 and f.taken_from is distinct from 'empty')
      or exists (select from conversations c where c.conversation_id = $1 and c.status->'parent'->'sandbox'->>'use' <> 'none') as had`;

/** Checkpoints that the sandbox of a fork has from its source. */
export const INHERIT_CHECKPOINTS = `insert into checkpoints (conversation_id, checkpoint_id, number, turn_id, step_id, at, transcript_seq, files, bytes, changed, added_bytes,
    left_out, event_seq, hidden, unchanged_to, earlier_effects)
  select f.conversation_id, c.checkpoint_id, c.number, c.turn_id, c.step_id, c.at, c.transcript_seq, c.files, c.bytes, c.changed, c.added_bytes,
    c.left_out, 0, c.hidden, least(c.unchanged_to, f.transcript_seq), ($2::json->(c.checkpoint_id))::json
  from forks f join checkpoints c on c.conversation_id = f.source_id
  where f.conversation_id = $1 and c.rewind_id is null and c.transcript_seq <= f.transcript_seq and not c.transcript_seq = any(f.hidden)
  on conflict do nothing`;
