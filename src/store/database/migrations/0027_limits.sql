-- Up Migration
-- What operators limit. `subject`: `tenant:<id>` or `key:<id>`; `limits`: numbers by the names of limits.
create table limits (
  subject text primary key,
  limits jsonb not null,
  updated_at timestamptz not null default clock_timestamp()
);
-- Requests of the running minute, one row for each subject that has a limit of them. Unlogged: a crash of the server only begins the count again, and a request
-- does not wait for the disk.
create unlogged table request_counts (
  subject text primary key,
  minute timestamptz not null,
  requests integer not null
);
create index conversations_running on conversations (tenant_id) where state = 'running';

-- Down Migration
drop index conversations_running;
drop table request_counts;
drop table limits;
