-- Up Migration
-- The labels that a host needs to take the sandbox; absent when any will do.
alter table room_waits add column labels text[];

-- Those in the line before this number that the host could take.
create or replace function longshore_ahead_on(host text, before bigint) returns bigint language sql stable as $body$
  select count(*) from room_waits w join hosts h on h.host_id = host
    where (before is null or w.number < before) and w.memory_bytes <= (h.facts->>'allowedBytes')::double precision
      and (w.host_id = host or w.host_id is null and h.draining_since is null and (w.runtime is null or h.facts->'runtimes' ? w.runtime)
        and (w.labels is null or h.facts->'labels' ?& w.labels))
      and longshore_is_in_line(w)
$body$;

-- Down Migration
create or replace function longshore_ahead_on(host text, before bigint) returns bigint language sql stable as $body$
  select count(*) from room_waits w join hosts h on h.host_id = host
    where (before is null or w.number < before) and w.memory_bytes <= (h.facts->>'allowedBytes')::double precision
      and (w.host_id = host or w.host_id is null and h.draining_since is null and (w.runtime is null or h.facts->'runtimes' ? w.runtime))
      and longshore_is_in_line(w)
$body$;
alter table room_waits drop column labels;
