-- Up Migration
-- Names an event that must be in the log once however often it is appended. Events of before have none, as do those that are logged with a change which itself
-- takes effect once, and those of workers of an earlier version that still run beside newer ones.
alter table events add column key text;
create unique index events_key on events (conversation_id, key) where key is not null;

-- Down Migration
drop index events_key;
alter table events drop column key;
