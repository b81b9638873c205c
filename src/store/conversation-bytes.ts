import type { Database } from './database.ts';
import type { Store } from './store.ts';

/** Rows are claimed by marking them: workers that do this at once take different ones. All of it happens, or nothing. */
const COMPACT = `with old as (
    update conversations set compacted_at = clock_timestamp() where conversation_id in (
      select conversation_id from conversations
      where state = 'closed' and compacted_at is null and updated_at < clock_timestamp() - make_interval(secs => $1::float8 * 86400)
      order by updated_at limit $2 for update skip locked
    ) returning conversation_id
  ), streamed as (
    delete from events using old
    where events.conversation_id = old.conversation_id and events.type in ('tool.output', 'text.delta', 'reasoning.delta')
  ), requested as (
    update events set data = (data::jsonb - 'arguments')::json from old
    where events.conversation_id = old.conversation_id and events.type = 'tool.requested'
  ), called as (
    update tool_calls set arguments = '{}', value = null, content = null from old
    where tool_calls.conversation_id = old.conversation_id
  ), read as (
    update transcript set entry = (entry::jsonb || '{"content":[{"type":"text","text":"(removed: the conversation was closed long ago)"}]}')::json from old
    where transcript.conversation_id = old.conversation_id and entry->>'role' = 'tool'
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
