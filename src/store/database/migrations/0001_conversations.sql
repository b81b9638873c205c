-- Up Migration
-- Payload columns are `json`, not `jsonb`: they are read back whole, and the order of keys that a model wrote is kept.

create table conversations (
  conversation_id text primary key,
  agent_id text not null,
  user_id text not null,
  tenant_id text not null,
  state text not null,
  status json not null,
  -- Counters of the two logs. Taking a number locks this row until commit, so numbers have no gaps and follow the order of commits.
  event_seq integer not null default 0,
  transcript_seq integer not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
)
-- Status and counters change at every step; room on the page keeps those updates off the indexes.
with (fillfactor = 50);
create index conversations_newest on conversations (created_at desc, conversation_id desc);
create index conversations_of_user on conversations (tenant_id, user_id, created_at desc);

create table messages (
  conversation_id text not null references conversations on delete cascade,
  message_id text not null,
  text text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (conversation_id, message_id)
);

create table transcript (
  conversation_id text not null references conversations on delete cascade,
  seq integer not null,
  key text not null,
  turn_id text not null,
  step_id text,
  at timestamptz not null,
  entry json not null,
  primary key (conversation_id, seq),
  unique (conversation_id, key)
);

create table tool_calls (
  call_id text primary key,
  conversation_id text not null references conversations on delete cascade,
  turn_id text not null,
  step_id text not null,
  position integer not null,
  tool text not null,
  arguments json not null,
  hash text not null,
  state text not null default 'proposed' check (state in ('proposed', 'running', 'finished', 'failed', 'denied', 'interrupted', 'unknown')),
  fence integer not null default 0,
  content json,
  is_error boolean not null default false,
  requested_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  finished_at timestamptz
);
create index tool_calls_of_step on tool_calls (conversation_id, step_id, position);
create index tool_calls_running on tool_calls (conversation_id) where state = 'running';

create table events (
  conversation_id text not null references conversations on delete cascade,
  seq integer not null,
  at timestamptz not null,
  turn_id text,
  step_id text,
  attempt integer,
  type text not null,
  data json not null,
  primary key (conversation_id, seq)
);
create index events_turn_starts on events (conversation_id, turn_id, seq) where type = 'turn.started';

-- No reference to conversations: a sandbox may be used without one, and its row must outlive everything until its container is gone.
create table sandboxes (
  sandbox_id text primary key,
  conversation_id text unique,
  tenant_id text not null,
  generation integer not null default 1,
  state text not null check (state in ('creating', 'running', 'frozen', 'stopped', 'lost', 'destroyed')),
  host_id text not null,
  container_name text not null,
  container_id text,
  volume_name text not null,
  options json not null,
  last_used_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp()
);
create index sandboxes_of_host on sandboxes (host_id, state);

-- Down Migration
drop table sandboxes;
drop table events;
drop table tool_calls;
drop table transcript;
drop table messages;
drop table conversations;
