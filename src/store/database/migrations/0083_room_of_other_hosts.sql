-- Up Migration
-- Those in the line before this number that the host could take. A host with too little disk takes none that is not on it already: what is on it does not wait for these.
create or replace function longshore_ahead_on(host text, before bigint) returns bigint language sql stable as $body$
  select count(*) from room_waits w join hosts h on h.host_id = host
    where (before is null or w.number < before) and w.memory_bytes <= (h.facts->>'allowedBytes')::double precision
      and (w.host_id = host or w.host_id is null and h.draining_since is null and (w.runtime is null or h.facts->'runtimes' ? w.runtime)
        and (w.labels is null or h.facts->'labels' ?& w.labels) and not coalesce((h.facts->'disk'->>'isShort')::boolean, false))
      and longshore_is_in_line(w)
$body$;

-- Runs after each change that needs memory of a host, within its transaction: fails it when the host has not that much, or others in the line come first. Who gets a host
-- without a limit waits no more, either.
create or replace function longshore_take_room() returns trigger language plpgsql volatile as $body$
declare
  host text := case when new.state in ('creating', 'warm', 'running', 'frozen') then new.host_id else new.promised_on end;
  who text := coalesce(new.conversation_id, new.sandbox_id);
  needed double precision := longshore_memory_of(new.options);
  allowed double precision;
  promised double precision;
  ahead bigint;
begin
  select (h.facts->>'allowedBytes')::double precision into allowed from hosts h where h.host_id = host;
  if allowed is null then
    delete from room_waits w where w.waiter = who;
    return null;
  end if;
  -- Two that ask at the same time ask one after the other; the second one sees what the first one has got.
  perform pg_advisory_xact_lock(hashtextextended('memory of host ' || host, 0));
  promised := longshore_promised_on(host, true) - needed;
  ahead := longshore_ahead_on(host, (select w.number from room_waits w where w.waiter = who));
  -- A warm sandbox that is handed out has its memory already.
  if ahead > 0 or promised + needed > allowed and (tg_op = 'INSERT' or old.state <> 'warm') then
    raise exception using errcode = 'LS001', message = 'the host has no memory for the sandbox', detail = json_build_object('sandboxId', new.sandbox_id,
      'host', host, 'neededMb', ceil(needed / 1048576), 'promisedMb', ceil(promised / 1048576), 'allowedMb', floor(allowed / 1048576), 'ahead', ahead)::text;
  end if;
  delete from room_waits w where w.waiter = who;
  return null;
end
$body$;

-- Down Migration
create or replace function longshore_ahead_on(host text, before bigint) returns bigint language sql stable as $body$
  select count(*) from room_waits w join hosts h on h.host_id = host
    where (before is null or w.number < before) and w.memory_bytes <= (h.facts->>'allowedBytes')::double precision
      and (w.host_id = host or w.host_id is null and h.draining_since is null and (w.runtime is null or h.facts->'runtimes' ? w.runtime)
        and (w.labels is null or h.facts->'labels' ?& w.labels))
      and longshore_is_in_line(w)
$body$;
create or replace function longshore_take_room() returns trigger language plpgsql volatile as $body$
declare
  host text := case when new.state in ('creating', 'warm', 'running', 'frozen') then new.host_id else new.promised_on end;
  who text := coalesce(new.conversation_id, new.sandbox_id);
  needed double precision := longshore_memory_of(new.options);
  allowed double precision;
  promised double precision;
  ahead bigint;
begin
  select (h.facts->>'allowedBytes')::double precision into allowed from hosts h where h.host_id = host;
  if allowed is null then
    return null;
  end if;
  -- Two that ask at the same time ask one after the other; the second one sees what the first one has got.
  perform pg_advisory_xact_lock(hashtextextended('memory of host ' || host, 0));
  promised := longshore_promised_on(host, true) - needed;
  ahead := longshore_ahead_on(host, (select w.number from room_waits w where w.waiter = who));
  -- A warm sandbox that is handed out has its memory already.
  if ahead > 0 or promised + needed > allowed and (tg_op = 'INSERT' or old.state <> 'warm') then
    raise exception using errcode = 'LS001', message = 'the host has no memory for the sandbox', detail = json_build_object('sandboxId', new.sandbox_id,
      'host', host, 'neededMb', ceil(needed / 1048576), 'promisedMb', ceil(promised / 1048576), 'allowedMb', floor(allowed / 1048576), 'ahead', ahead)::text;
  end if;
  delete from room_waits w where w.waiter = who;
  return null;
end
$body$;
