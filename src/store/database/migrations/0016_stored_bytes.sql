-- Up Migration
-- What a conversation has stored (transcript, calls, events) in bytes of JSON, kept by every statement that stores any of it.
alter table conversations add column stored_bytes bigint not null default 0;
-- When what its calls and their output took up was removed, long after its end.
alter table conversations add column compacted_at timestamptz;
create index conversations_to_compact on conversations (updated_at) where state = 'closed' and compacted_at is null;
update conversations c set stored_bytes =
    coalesce((select sum(octet_length(entry::text)) from transcript t where t.conversation_id = c.conversation_id), 0)
  + coalesce((select sum(octet_length(data::text)) from events e where e.conversation_id = c.conversation_id), 0)
  + coalesce((select sum(octet_length(arguments::text) + coalesce(octet_length(content::text), 0) + coalesce(octet_length(value::text), 0))
      from tool_calls l where l.conversation_id = c.conversation_id), 0)
  where state <> 'closed';

-- Down Migration
drop index conversations_to_compact;
alter table conversations drop column compacted_at;
alter table conversations drop column stored_bytes;
