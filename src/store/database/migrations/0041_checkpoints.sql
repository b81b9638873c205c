-- Up Migration
-- Checkpoints of conversations. Their files are in the volume of the sandbox, under the number.
create table checkpoints (
  conversation_id text not null references conversations on delete cascade,
  checkpoint_id text not null,
  -- Counts within one volume.
  number integer not null,
  turn_id text not null,
  step_id text,
  at timestamptz not null,
  -- The last entry of the transcript at that moment.
  transcript_seq integer not null,
  files bigint not null,
  bytes bigint not null,
  changed bigint not null,
  added_bytes bigint not null,
  left_out bigint not null,
  -- Of the state before a rewind.
  rewind_id text,
  -- The last event of the conversation at that moment.
  event_seq integer not null,
  -- Entries of the transcript that a rewind had taken back by then.
  hidden integer[] not null,
  primary key (conversation_id, checkpoint_id)
);
select longshore_keep_apart('checkpoints', 'exists (select from conversations c where c.conversation_id = checkpoints.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- A rewind has gone back beyond the entry: it is no part of the conversation any more.
alter table transcript add column rewound boolean not null default false;

-- Down Migration
alter table transcript drop column rewound;
drop table checkpoints;
