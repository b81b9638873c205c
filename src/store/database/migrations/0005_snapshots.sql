-- Up Migration
-- What an archived sandbox was packed into: ids, sizes and digests of its blobs. Absent in every other state.
alter table sandboxes add column archive json;
alter table sandboxes drop constraint sandboxes_state_check;
alter table sandboxes add constraint sandboxes_state_check
  check (state in ('creating', 'running', 'frozen', 'hibernated', 'stopped', 'archived', 'lost', 'destroyed'));

-- No reference to sandboxes: a named snapshot outlives its sandbox.
create table snapshots (
  snapshot_id text primary key,
  sandbox_id text not null,
  tenant_id text not null,
  -- Automatic ones have none.
  name text,
  -- False while it is being made: such a row only keeps its volumes from the reaper.
  ready boolean not null default false,
  host_id text not null,
  volume_name text not null,
  -- Holds the checkpoint of its processes, when they were taken along.
  memory_volume text,
  options json not null,
  created_at timestamptz not null default clock_timestamp(),
  unique (sandbox_id, name)
);
create index snapshots_of_sandbox on snapshots (sandbox_id, created_at);
create index snapshots_of_tenant on snapshots (tenant_id, created_at);

create table blobs (
  blob_id text primary key,
  created_at timestamptz not null default clock_timestamp()
);
create table blob_chunks (
  blob_id text not null references blobs on delete cascade,
  position integer not null,
  data bytea not null,
  primary key (blob_id, position)
);
-- They are packed already; pressing them again would only cost time.
alter table blob_chunks alter column data set storage external;

-- Down Migration
drop table blob_chunks;
drop table blobs;
drop table snapshots;
update sandboxes set state = 'lost' where state = 'archived';
alter table sandboxes drop constraint sandboxes_state_check;
alter table sandboxes add constraint sandboxes_state_check
  check (state in ('creating', 'running', 'frozen', 'hibernated', 'stopped', 'lost', 'destroyed'));
alter table sandboxes drop column archive;
