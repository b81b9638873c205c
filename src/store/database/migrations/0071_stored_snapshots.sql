-- Up Migration
-- `stored`: the blobs of a snapshot, from which any host can restore it. `storing_until`: a worker of its host is putting it into the blob store until then.
alter table snapshots add column stored json, add column storing_until timestamptz;
create index snapshots_unstored on snapshots (host_id) where stored is null;

-- Who waits for disk of a host needs "infinity" of memory, which no host has: nobody stands behind it. Its place is in no line, so it ends with the sandbox.
create function longshore_has_disk() returns trigger language plpgsql volatile as $body$
begin
  delete from room_waits w where w.waiter = coalesce(new.conversation_id, new.sandbox_id) and w.memory_bytes = 'infinity';
  return null;
end
$body$;
create trigger has_disk_for_new after insert on sandboxes for each row when (new.state <> 'warm') execute function longshore_has_disk();
create trigger has_disk after update on sandboxes for each row
  when (old.state = 'archived' and new.state <> 'archived' or old.state = 'warm' and new.state = 'creating') execute function longshore_has_disk();

-- Down Migration
drop trigger has_disk on sandboxes;
drop trigger has_disk_for_new on sandboxes;
drop function longshore_has_disk();
drop index snapshots_unstored;
alter table snapshots drop column stored, drop column storing_until;
