-- Up Migration
-- Backups of sandboxes in use. `backup`: the newest complete one, with its blobs. `backup_due_at`: the last turn that may have changed something ended then, and
-- its files are not backed up yet. `backup_checked_at`: when the files were last found backed up. `backup_problem`: why the last try failed. `backup_not_before`: a
-- worker is at work on a backup until then, or it is tried again then.
alter table sandboxes add column backup json, add column backup_due_at timestamptz, add column backup_checked_at timestamptz,
  add column backup_problem text, add column backup_not_before timestamptz;
create index sandboxes_backed_up on sandboxes (host_id) where (options->>'backup') is not null;

-- Down Migration
drop index sandboxes_backed_up;
alter table sandboxes drop column backup, drop column backup_due_at, drop column backup_checked_at, drop column backup_problem, drop column backup_not_before;
