-- Up Migration
-- The plans of agents, each as a whole; the newest one that no rewind has taken back counts.
create table plans (
  conversation_id text not null references conversations on delete cascade,
  -- Order of the plans, from 1.
  number integer not null,
  call_id text not null,
  at timestamptz not null default clock_timestamp(),
  -- The newest entry of the transcript when it was written: a rewind beyond that entry takes the plan back, too.
  after_seq integer not null,
  items json not null,
  primary key (conversation_id, number)
);
select longshore_keep_apart('plans', 'exists (select from conversations c where c.conversation_id = plans.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- Down Migration
drop table plans;
