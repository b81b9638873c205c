-- Up Migration
-- What running sandboxes used, a day of it.
create table sandbox_samples (
  sandbox_id text not null,
  at timestamptz not null default clock_timestamp(),
  -- Since its container was started, in milliseconds of one processor.
  cpu_ms double precision not null,
  -- Processors in use since the sample before; null for the first one.
  cpus double precision,
  memory_bytes bigint not null,
  -- Null where it was not measured.
  disk_bytes bigint,
  processes integer not null,
  primary key (sandbox_id, at)
);
create index sandbox_samples_age on sandbox_samples (at);

-- How long a sandbox has been in each state, in milliseconds; that in the present one counts from `state_since` on.
alter table sandboxes add column state_since timestamptz not null default clock_timestamp(), add column state_ms jsonb not null default '{}';

-- Here, so that no statement that changes a state can forget it.
create function longshore_count_state_time() returns trigger language plpgsql as $body$
begin
  new.state_ms := old.state_ms || jsonb_build_object(old.state,
    coalesce((old.state_ms ->> old.state)::bigint, 0) + (extract(epoch from clock_timestamp() - old.state_since) * 1000)::bigint);
  new.state_since := clock_timestamp();
  return new;
end
$body$;
create trigger sandboxes_state_time before update of state on sandboxes
  for each row when (old.state is distinct from new.state) execute function longshore_count_state_time();

-- Down Migration
drop trigger sandboxes_state_time on sandboxes;
drop function longshore_count_state_time();
alter table sandboxes drop column state_since, drop column state_ms;
drop table sandbox_samples;
