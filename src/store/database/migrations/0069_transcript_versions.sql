-- Up Migration
-- Changes whenever entries that a conversation has already are changed, hidden or shown again; not with new entries. Workers keep transcripts in their memory and
-- compare it. Null until the first such change of a conversation that is older than this column; a conversation with the id of a removed one begins with another.
alter table conversations add column transcript_version uuid;
alter table conversations alter column transcript_version set default gen_random_uuid();

-- Triggers, so that this also holds for workers of earlier versions.
create function longshore_change_transcripts() returns trigger language plpgsql as $body$
begin
  update conversations set transcript_version = gen_random_uuid() where conversation_id in (select conversation_id from changed);
  return null;
end
$body$;
create trigger transcript_changed after update on transcript
  referencing new table as changed for each statement execute function longshore_change_transcripts();
-- For `forks.hidden`.
create trigger fork_changed after update on forks
  referencing new table as changed for each statement execute function longshore_change_transcripts();

-- Forks have the entries of others: a reader compares the versions of those, too. Entries that are kept for forks alone have no version.
create function longshore_change_kept_entries() returns trigger language plpgsql as $body$
begin
  update conversations set transcript_version = gen_random_uuid()
    where conversation_id in (select p.conversation_id from transcript_parts p join changed using (holder_id));
  return null;
end
$body$;
create trigger kept_entries_changed after update on kept_entries
  referencing new table as changed for each statement execute function longshore_change_kept_entries();

-- Down Migration
drop trigger kept_entries_changed on kept_entries;
drop trigger fork_changed on forks;
drop trigger transcript_changed on transcript;
drop function longshore_change_kept_entries();
drop function longshore_change_transcripts();
alter table conversations drop column transcript_version;
