-- Up Migration
-- How many calls wait for a person, so that the inbox reads only the conversations that have any. A column of its own: an index on `status` would be written
-- with every status. Adding it rewrites the table of conversations once.
alter table conversations add column waiting_calls integer not null generated always as (
  case json_typeof(status->'pendingApprovals') when 'array' then json_array_length(status->'pendingApprovals') else 0 end
) stored;
create index conversations_waiting on conversations (created_at desc, conversation_id desc) where waiting_calls > 0;
create index conversations_waiting_of_tenant on conversations (tenant_id, created_at desc, conversation_id desc) where waiting_calls > 0;

-- Down Migration
alter table conversations drop column waiting_calls;
