-- Up Migration
-- Sub-agents that work, or wait for a place, in the tree of conversations below one that a client started.
create table tree_places (
  call_id text primary key,
  -- The conversation that a client started.
  root_id text not null references conversations (conversation_id) on delete cascade,
  -- The conversation that gives the task, and that of the sub-agent.
  asker_id text not null,
  sub_agent_id text not null,
  -- Levels below the root, from 1.
  depth smallint not null,
  -- Absent while the call waits.
  place smallint,
  -- The conversation that waits knows of its place.
  told boolean not null default false,
  asked_at timestamptz not null default clock_timestamp(),
  unique (root_id, place)
);
create index tree_places_waiting on tree_places (root_id, asked_at, call_id) where place is null;
select longshore_keep_apart('tree_places', 'exists (select from conversations c where c.conversation_id = root_id)');

-- Down Migration
drop table tree_places;
