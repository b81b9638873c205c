-- Up Migration
-- Messages that declare tools of clients are few, and the newest one is looked up before every step.
create index transcript_client_tools on transcript (conversation_id, seq) where entry->>'role' = 'user' and entry->'clientTools' is not null;
create index kept_entries_client_tools on kept_entries (holder_id, seq) where entry->>'role' = 'user' and entry->'clientTools' is not null;

-- Down Migration
drop index kept_entries_client_tools;
drop index transcript_client_tools;
