-- Up Migration
-- What copies have made on the engine of a host, and since when its workers have seen it. The engine's own times are wrong after the clock of its machine was set.
create table copies_seen (
  host_id text not null,
  name text not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (host_id, name)
);

-- Down Migration
drop table copies_seen;
