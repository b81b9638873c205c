-- Up Migration
-- Calls of tools that clients run. What a client gives is kept here until a worker has made it the result of the call.
create table client_calls (
  call_id text primary key references tool_calls on delete cascade,
  conversation_id text not null references conversations on delete cascade,
  name text not null,
  -- JSON Schema of the result; null: any value.
  output json,
  -- `waiting`: for a client. `answered`: a worker has not taken the result yet. `ended`: it has, or no result is taken any more.
  state text not null default 'waiting' check (state in ('waiting', 'answered', 'ended')),
  asked_at timestamptz not null default clock_timestamp(),
  -- Null: it waits without limit.
  deadline_at timestamptz,
  -- The client that has the call, until `held_until`.
  holder text,
  held_until timestamptz,
  -- How often a client has taken the call.
  claims integer not null default 0,
  -- Hash of what the client gave, so that the same result is known again.
  result_sha256 bytea,
  is_error boolean not null default false,
  -- Removed when a worker has taken it.
  result json
);
create index client_calls_waiting on client_calls (conversation_id, asked_at) where state = 'waiting';
select longshore_keep_apart('client_calls', 'exists (select from conversations c where c.conversation_id = client_calls.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- Down Migration
drop table client_calls;
