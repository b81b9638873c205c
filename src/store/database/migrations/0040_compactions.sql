-- Up Migration
-- What the prompts of a conversation leave out. Nothing of the transcript is deleted: a row says which entries it is about, and a row that was undone no longer counts.
create table compactions (
  conversation_id text not null references conversations on delete cascade,
  -- Order of the compactions, from 1.
  number integer not null,
  compaction_id text not null,
  at timestamptz not null default clock_timestamp(),
  -- The newest entry of the transcript when it was made, and when it was undone.
  after_seq integer not null,
  undone_after_seq integer,
  reason text not null,
  left_out json not null,
  tokens_before bigint not null,
  tokens_after bigint not null,
  -- Of the model calls for its summary.
  usage json,
  primary key (conversation_id, number),
  unique (conversation_id, compaction_id)
);
select longshore_keep_apart('compactions', 'exists (select from conversations c where c.conversation_id = compactions.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- Down Migration
drop table compactions;
