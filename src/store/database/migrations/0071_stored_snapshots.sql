-- Up Migration
-- `stored`: the blobs of a snapshot, from which any host can restore it. `storing_until`: a worker of its host is putting it into the blob store until then.
alter table snapshots add column stored json, add column storing_until timestamptz;
create index snapshots_unstored on snapshots (host_id) where stored is null;

-- Down Migration
drop index snapshots_unstored;
alter table snapshots drop column stored, drop column storing_until;
