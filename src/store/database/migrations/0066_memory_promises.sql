-- Up Migration
-- A host may be told how much memory it promises (`facts.allowedBytes`): the memory limits of its sandboxes that have processes, and of those for which it is
-- promised. `promised_for`: `wake` before its processes are started, `rest` until they have been put to disk. `promised_at` tells one promise from another.
alter table sandboxes add column promised_on text, add column promised_for text check (promised_for in ('wake', 'rest')), add column promised_at timestamptz;
create index sandboxes_promised on sandboxes (promised_on) where promised_on is not null;

-- Who waits for memory, in the order of `number`. Who has not asked again for a while has left the line.
create sequence room_wait_numbers;
create table room_waits (
  -- The conversation, or a sandbox that has none.
  waiter text primary key,
  conversation_id text,
  tenant_id text not null,
  number bigint not null default nextval('room_wait_numbers'),
  -- Absent for one that any host may take.
  host_id text,
  -- Absent when any will do.
  runtime text,
  memory_bytes double precision not null,
  -- What the conversation is told.
  waits json not null,
  told boolean not null default false,
  asked_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
);
select longshore_keep_apart('room_waits', 'tenant_id = longshore_tenant()');

-- The limit of a sandbox whose options name none is the one of the code, DEFAULT_MEMORY_MB.
create function longshore_memory_of(options json) returns double precision language sql immutable as $body$
  select coalesce((options->>'memoryMb')::double precision, 1024) * 1048576
$body$;

-- What a host has promised. With `false`, without warm sandboxes, which make room when it is needed.
create function longshore_promised_on(host text, with_warm boolean) returns double precision language sql stable as $body$
  select coalesce(sum(longshore_memory_of(s.options)), 0) from sandboxes s
    where s.host_id = host and s.state in ('creating', 'warm', 'running', 'frozen') and (with_warm or s.pool_slot is null) or s.promised_on = host
$body$;

-- Whether somebody in the line is seen there: whose conversation neither ended nor rests, and who has asked lately.
create function longshore_is_in_line(w room_waits) returns boolean language sql stable as $body$
  select w.seen_at > clock_timestamp() - interval '30 seconds'
    and not exists (select from conversations c where c.conversation_id = w.conversation_id and c.state in ('closed', 'paused'))
$body$;

-- Those in the line before this number that the host could take.
create function longshore_ahead_on(host text, before bigint) returns bigint language sql stable as $body$
  select count(*) from room_waits w join hosts h on h.host_id = host
    where (before is null or w.number < before) and w.memory_bytes <= (h.facts->>'allowedBytes')::double precision
      and (w.host_id = host or w.host_id is null and h.draining_since is null and (w.runtime is null or h.facts->'runtimes' ? w.runtime))
      and longshore_is_in_line(w)
$body$;

-- Runs after each change that needs memory of a host, within its transaction: fails it when the host has not that much, or others in the line come first.
create function longshore_take_room() returns trigger language plpgsql volatile as $body$
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
-- Nothing refuses what has happened: processes that run are counted, whatever the host may promise. They are started only after one of these changes.
create trigger take_room_for_new after insert on sandboxes for each row
  when (new.state in ('creating', 'warm', 'running', 'frozen')) execute function longshore_take_room();
create trigger take_room after update on sandboxes for each row
  when (new.promised_for = 'wake' and new.promised_on is distinct from old.promised_on and old.state not in ('creating', 'warm', 'running', 'frozen')
    or new.state = 'creating' and (old.state = 'warm' or new.host_id <> old.host_id)) execute function longshore_take_room();

-- Down Migration
drop trigger take_room on sandboxes;
drop trigger take_room_for_new on sandboxes;
drop function longshore_take_room();
drop function longshore_ahead_on(text, bigint);
drop function longshore_is_in_line(room_waits);
drop function longshore_promised_on(text, boolean);
drop function longshore_memory_of(json);
drop table room_waits;
drop sequence room_wait_numbers;
drop index sandboxes_promised;
alter table sandboxes drop column promised_on, drop column promised_for, drop column promised_at;
