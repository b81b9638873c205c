-- Up Migration
-- What the model calls of removed conversations used, added up by day (UTC): what was paid stays known when what was said does not. `user_id` is empty for users who were erased.
create table usage_days (
  tenant_id text not null,
  day date not null,
  agent_id text not null,
  user_id text not null,
  model text not null,
  calls bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  -- US dollars, of the calls whose cost is known.
  cost_usd numeric not null,
  -- Calls whose cost is not known.
  unpriced bigint not null,
  primary key (tenant_id, day, agent_id, user_id, model)
);
create index usage_days_day on usage_days (day);
select longshore_keep_apart('usage_days', 'tenant_id = longshore_tenant()');

-- Down Migration
drop table usage_days;
