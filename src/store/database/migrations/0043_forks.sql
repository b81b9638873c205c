-- Up Migration
-- Conversations that began as forks of another one.
create table forks (
  conversation_id text primary key references conversations on delete cascade,
  -- That conversation. It may be removed by now.
  source_id text not null,
  -- The last entry of the transcript that it has from there, and the last event there at that moment.
  transcript_seq integer not null,
  event_seq integer not null,
  -- The newest result of a tool among those entries, by which its files are found; null when there is none.
  result_seq integer,
  -- Entries from there that a rewind has taken back.
  hidden integer[] not null,
  -- Which files it has, and the checkpoint that was named.
  files text not null check (files in ('exact', 'now', 'none')),
  checkpoint_id text,
  -- Where its files are taken from: `live`, `empty`, or a checkpoint of the source. Null until a worker has decided.
  taken_from text,
  made_at timestamptz not null default clock_timestamp()
);
create index forks_source on forks (source_id);
select longshore_keep_apart('forks', 'exists (select from conversations c where c.conversation_id = forks.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- Where the entries of a fork's transcript are, up to `forks.transcript_seq`; later ones are its own. A fork of a fork names the conversations that have the entries,
-- so that no reader goes from fork to fork.
create table transcript_parts (
  conversation_id text not null references forks on delete cascade,
  after_seq integer not null,
  to_seq integer not null,
  -- The conversation that has them, or where they are kept since that one was removed.
  source_id text,
  holder_id text,
  primary key (conversation_id, to_seq),
  check ((source_id is null) <> (holder_id is null))
);
create index transcript_parts_source on transcript_parts (source_id) where source_id is not null;
create index transcript_parts_holder on transcript_parts (holder_id) where holder_id is not null;
select longshore_keep_apart('transcript_parts', 'exists (select from conversations c where c.conversation_id = transcript_parts.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- Entries of removed conversations that forks still read.
create table kept_entries (
  holder_id text not null,
  seq integer not null,
  key text not null,
  turn_id text not null,
  step_id text,
  at timestamptz not null,
  entry json not null,
  primary key (holder_id, seq)
);
select longshore_keep_apart('kept_entries', 'exists (select from transcript_parts p where p.holder_id = kept_entries.holder_id)');

-- Which entries were taken back before a rewind of a conversation, so that a fork can begin where a rewind went back beyond.
create table rewinds (
  conversation_id text not null references conversations on delete cascade,
  number bigint generated always as identity,
  -- The newest entry at that moment.
  after_seq integer not null,
  hidden integer[] not null,
  primary key (conversation_id, number)
);
select longshore_keep_apart('rewinds', 'exists (select from conversations c where c.conversation_id = rewinds.conversation_id)',
  'longshore_has_conversation(conversation_id)');
insert into rewinds (conversation_id, after_seq, hidden)
  select conversation_id, transcript_seq, hidden from checkpoints where rewind_id is not null order by at, event_seq;

-- The newest entry for which it was found that no file had changed since the checkpoint.
alter table checkpoints add column unchanged_to integer;
-- What had reached beyond the sandbox between the checkpoint and the fork that has taken it over.
alter table checkpoints add column earlier_effects json;

-- Down Migration
alter table checkpoints drop column earlier_effects;
alter table checkpoints drop column unchanged_to;
drop table rewinds;
drop table kept_entries;
drop table transcript_parts;
drop table forks;
