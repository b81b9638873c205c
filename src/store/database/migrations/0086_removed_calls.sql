-- Up Migration
-- Model calls of conversations that were removed within a day: a limit of the tenant counts the last 24 hours, and the sums of days do not say which calls these are. They
-- say nothing about the conversation or its user, and are swept a day later.
create table removed_calls (
  tenant_id text not null,
  at timestamptz not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  cost_usd numeric
);
create index removed_calls_of_tenant on removed_calls (tenant_id, at);
create index removed_calls_at on removed_calls (at);
select longshore_keep_apart('removed_calls', 'tenant_id = longshore_tenant()');

-- Down Migration
drop table removed_calls;
