-- Up Migration
-- When a sandbox was paused: an operation that began before is not what wakes it. Null: it is not paused, or was paused by an older worker.
alter table sandboxes add column paused_at timestamptz;

-- Down Migration
alter table sandboxes drop column paused_at;
