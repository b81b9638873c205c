-- Up Migration
-- The key that made the link, which ends with it. Null: no key has, or a service of an earlier version.
alter table approval_links add column if not exists key_id text;

-- Down Migration
alter table approval_links drop column key_id;
