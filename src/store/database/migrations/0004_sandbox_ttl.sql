-- Up Migration
-- When a sandbox may be destroyed whatever it does; null for those that belong to a conversation, whose workflow ends them.
alter table sandboxes add column expires_at timestamptz;
create index sandboxes_expiry on sandboxes (expires_at) where expires_at is not null and state <> 'destroyed';

-- Down Migration
drop index sandboxes_expiry;
alter table sandboxes drop column expires_at;
