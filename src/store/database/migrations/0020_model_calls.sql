-- Up Migration
-- What each answer of a model used: one row for each step, written by the statement that stores the answer. Agent, user and tenant are those of the conversation.
create table model_calls (
  conversation_id text not null references conversations on delete cascade,
  step_id text not null,
  turn_id text not null,
  at timestamptz not null default clock_timestamp(),
  tenant_id text not null,
  agent_id text not null,
  user_id text not null,
  model text not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  -- Null where the provider did not say.
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  -- US dollars; null where the price of the model was not known.
  cost_usd numeric,
  primary key (conversation_id, step_id)
);
create index model_calls_of_tenant on model_calls (tenant_id, at);
create index model_calls_at on model_calls (at);

-- Down Migration
drop table model_calls;
