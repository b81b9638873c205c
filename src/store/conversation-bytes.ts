import type { Database } from './database/database.ts';
import type { Store } from './store.ts';

const REMOVED = '(removed: the conversation was closed long ago)';

/** An entry of a transcript without what a call was given and has given. */
const WITHOUT_DETAILS = `(case entry->>'role'
        when 'tool' then entry::jsonb || '{"content":[{"type":"text","text":"${REMOVED}"}]}'
        when 'note' then entry::jsonb || '{"text":"${REMOVED}"}'
        else jsonb_set(entry::jsonb, '{parts}', (
          select jsonb_agg(case part->>'type' when 'tool-call' then part || '{"arguments":{}}' else part end order by position)
          from jsonb_array_elements(entry::jsonb->'parts') with ordinality as item (part, position))) end)::json`;
const hasDetails = (table: string) => `(entry->>'role' = 'tool'
      or (entry->>'role' = 'note' and ${table}.key ~ '^(edited|noted|agents-md|imported)-')
      or (entry->>'role' = 'assistant' and json_array_length(entry->'parts') > 0))`;

/**
 * Rows are claimed by marking them, so that workers that run this at the same time take different ones. The statement is atomic. One whose
 * entries a fork reads has to wait for the fork.
 */
const COMPACT = `with old as (
    update conversations set compacted_at = clock_timestamp() where conversation_id in (
      select conversation_id from conversations
      where state = 'closed' and compacted_at is null and updated_at < statement_timestamp() - make_interval(secs => $1::float8 * 86400)
        and not exists (select from transcript_parts p join conversations f on f.conversation_id = p.conversation_id
          where p.source_id = conversations.conversation_id and f.compacted_at is null)
      order by updated_at limit $2 for update skip locked
    ) returning conversation_id
  ), streamed as (
    delete from events using old
    where events.conversation_id = old.conversation_id and events.type in ('tool.output', 'text.delta', 'reasoning.delta')
  ), told as (
    update events set data = (case
        when type in ('tool.requested', 'tool.waiting') then data::jsonb - 'arguments'
        when type = 'context.compacted' then data::jsonb - 'summary'
        when type = 'plan.changed' then data::jsonb || '{"items":[]}'
        when type = 'tool.finished' then data::jsonb || '{"text":"${REMOVED}"}'
        else data::jsonb || '{"arguments":{}}' end)::json
    from old
    where events.conversation_id = old.conversation_id
      and (events.type in ('tool.requested', 'tool.waiting', 'tool.finished', 'context.compacted', 'plan.changed') or (events.type like 'tool.approval-%' and events.data->'arguments' is not null))
  ), summed as (
    delete from compactions using old where compactions.conversation_id = old.conversation_id
  ), before as (
    delete from earlier_events using old where earlier_events.conversation_id = old.conversation_id
  ), planned as (
    delete from plans using old where plans.conversation_id = old.conversation_id
  ), called as (
    update tool_calls set arguments = '{}', value = null, content = null from old
    where tool_calls.conversation_id = old.conversation_id
  ), shown as (
    delete from media_uses using old where media_uses.conversation_id = old.conversation_id and not by_message
  ), given as (
    update client_calls set result = null from old where client_calls.conversation_id = old.conversation_id and client_calls.result is not null
  ), read as (
    update transcript set entry = ${WITHOUT_DETAILS}
    from old
    where transcript.conversation_id = old.conversation_id and ${hasDetails('transcript')}
  ), read_of_removed as (
    update kept_entries set entry = ${WITHOUT_DETAILS}
    where ${hasDetails('kept_entries')} and holder_id in (select p.holder_id from transcript_parts p join old using (conversation_id))
      and not exists (select from transcript_parts p join conversations f using (conversation_id)
        where p.holder_id = kept_entries.holder_id and f.compacted_at is null and f.conversation_id not in (select conversation_id from old))
  )
  select conversation_id from old`;

const STORED = 'select stored_bytes::float8 as bytes from conversations where conversation_id = $1';
const TOTAL = 'select coalesce(sum(stored_bytes), 0)::float8 as bytes from conversations where compacted_at is null';

export function createConversationBytes({ database }: { database: Database }): Pick<Store['conversations'], 'storedBytes' | 'totalBytes' | 'compact'> {
  const bytes = async (name: string, sql: string, values: string[]) => (await database.query<{ bytes: number }>(name, sql, values))[0]?.bytes ?? 0;
  return {
    storedBytes: (conversationId) => bytes('conversations.storedBytes', STORED, [conversationId]),
    totalBytes: () => bytes('conversations.totalBytes', TOTAL, []),
    compact: async (closedForDays, limit) => (await database.query('conversations.compact', COMPACT, [closedForDays, limit])).length,
  };
}
