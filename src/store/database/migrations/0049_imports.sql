-- Up Migration
-- Conversations that were brought in from the file of an export. Until one is complete, its row is closed and marked for a removal a day later, so that what a crash
-- leaves is removed then.
create table imports (
  conversation_id text primary key references conversations on delete cascade,
  -- The conversation that was exported, perhaps in another installation.
  source_id text not null,
  exported_at timestamptz not null,
  -- SHA-256 of what the archive says about itself: the same archive again is the same import.
  digest text not null,
  -- The attempt that may add to it; one that another attempt has replaced may not.
  attempt text not null,
  -- What it has brought in. Null until it is complete.
  report json,
  made_at timestamptz not null default clock_timestamp()
);
select longshore_keep_apart('imports', 'exists (select from conversations c where c.conversation_id = imports.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- The logs of events from there, which nothing reads but a later export: lines of JSON in pieces, each compressed with gzip.
create table earlier_events (
  conversation_id text not null references conversations on delete cascade,
  number integer not null,
  -- Of its text.
  bytes integer not null,
  lines bytea not null,
  primary key (conversation_id, number)
);
select longshore_keep_apart('earlier_events', 'exists (select from conversations c where c.conversation_id = earlier_events.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- Down Migration
drop table earlier_events;
drop table imports;
