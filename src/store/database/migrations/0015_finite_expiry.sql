-- Up Migration
-- A time to live that was not finite, or too long for a date of JavaScript, made rows that no client could read. Those that have such a time get the longest
-- that may be asked for, and no new ones are taken.
update sandboxes set expires_at = clock_timestamp() + interval '100 years' where expires_at > timestamptz '9999-01-01';
update sandboxes set expires_at = clock_timestamp() where expires_at < timestamptz '1970-01-01';
alter table sandboxes add constraint sandboxes_finite_expiry check (expires_at between timestamptz '1970-01-01' and timestamptz '9999-12-31');

-- Down Migration
alter table sandboxes drop constraint sandboxes_finite_expiry;
