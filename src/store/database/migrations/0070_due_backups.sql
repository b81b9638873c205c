-- Up Migration
-- Each statement on its own: nobody waits while an index is built.
-- Workers look every second for backups that are due on their host. What is left of a build that was interrupted is removed first.
drop index concurrently if exists sandboxes_backup_due;
create index concurrently sandboxes_backup_due on sandboxes (host_id) where backup_due_at is not null;

-- Down Migration
drop index sandboxes_backup_due;
