-- Up Migration
-- Hosts that have sandboxes, and when each was last heard of. `since`: from when on it has been heard of without a gap. A host that was away itself cannot tell
-- whether another one is.
create table hosts (
  host_id text primary key,
  since timestamptz not null default clock_timestamp(),
  heard_at timestamptz not null default clock_timestamp()
);

-- Down Migration
drop table hosts;
