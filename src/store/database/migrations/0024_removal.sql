-- Up Migration
-- How long closed conversations of a tenant are kept, in milliseconds; null: for ever. A tenant without a row has the setting of the workers.
create table tenant_retention (
  tenant_id text primary key,
  keep_ms bigint
);
select longshore_keep_apart('tenant_retention', 'tenant_id = longshore_tenant()');
-- Set while a closed conversation is being removed: it is not given another start, and its sandbox not to another conversation.
alter table conversations add column removing_at timestamptz;
-- The last time that somebody asked for a start with the id of a conversation that exists. Its workflow may run again since then.
alter table conversations add column asked_at timestamptz;
create index conversations_removing on conversations (removing_at) where removing_at is not null;
create index conversations_closed on conversations (updated_at) where state = 'closed';

-- Down Migration
drop index conversations_closed;
drop index conversations_removing;
alter table conversations drop column asked_at;
alter table conversations drop column removing_at;
drop table tenant_retention;
