-- Up Migration
-- The authority that certifies the workers and the services of this installation to each other: one row, made by whoever asks first. Both are PEM.
create table host_authority (
  one boolean primary key default true check (one),
  key text not null,
  certificate text not null
);
-- Workers at which the HTTP service reaches the sandboxes of a host. A row that has expired counts as absent.
create table host_workers (
  worker_id text primary key,
  host_id text not null,
  address text not null,
  fingerprint text not null,
  expires_at timestamptz not null
);
create index host_workers_host on host_workers (host_id);

-- Down Migration
drop table host_workers;
drop table host_authority;
