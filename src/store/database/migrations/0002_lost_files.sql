-- Up Migration
-- When the sandbox was last rebuilt without its old volume. The journal of its commands went with it, so calls that were under way then cannot be judged.
alter table sandboxes add column files_lost_at timestamptz;

-- Down Migration
alter table sandboxes drop column files_lost_at;
