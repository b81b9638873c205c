-- Up Migration
alter table sandboxes drop constraint sandboxes_state_check;
alter table sandboxes add constraint sandboxes_state_check
  check (state in ('creating', 'warm', 'running', 'frozen', 'hibernated', 'stopped', 'archived', 'lost', 'destroyed'));

-- Sandboxes that wait for their conversation. A claimed one keeps the key and gives up its slot.
alter table sandboxes add column pool_key text, add column pool_slot integer;
-- What bounds a pool, however many workers fill it.
create unique index sandboxes_of_pool on sandboxes (host_id, pool_key, pool_slot) where state in ('creating', 'warm');

-- Who keeps a pool. One whose owners have all left, or have said nothing for too long, is drained.
create table pool_owners (
  owner_id text not null,
  host_id text not null,
  pool_key text not null,
  size integer not null,
  expires_at timestamptz not null,
  primary key (owner_id, host_id, pool_key)
);

-- Down Migration
drop table pool_owners;
update sandboxes set state = 'destroyed' where state = 'warm';
alter table sandboxes drop column pool_key, drop column pool_slot;
alter table sandboxes drop constraint sandboxes_state_check;
alter table sandboxes add constraint sandboxes_state_check
  check (state in ('creating', 'running', 'frozen', 'hibernated', 'stopped', 'archived', 'lost', 'destroyed'));
