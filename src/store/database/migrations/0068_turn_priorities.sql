-- Up Migration
-- 1 is high, 2 normal, 3 low. Turns of sub-agents have that of the turn that gave the task.
alter table turn_places add column priority smallint not null default 2;
-- How many places the tenant has been given. Each fourth one goes to the turn that comes first in the order of all, whatever its priority is, so that each gets one.
alter table turn_rounds add column places bigint not null default 0;

-- Changes parts of a function: pairs of what is there and what takes its place.
create function pg_temp.change_parts(changed regprocedure, parts text[][]) returns void language plpgsql as $body$
declare
  definition text := pg_get_functiondef(changed);
  part text[];
begin
  foreach part slice 1 in array parts loop
    if position(part[1] in definition) = 0 then
      raise exception '% does not contain: %', changed, part[1];
    end if;
    definition := replace(definition, part[1], part[2]);
  end loop;
  execute definition;
end
$body$;
select pg_temp.change_parts('longshore_give_turn_places(json)', array[
  -- Tenants that have got none yet come in the order of their first turns.
  ['order by coalesce(r.given, 0), w.position,',
    'order by coalesce(r.given, 0), min(w.position) over (partition by w.tenant_id), w.tenant_id,
        case when coalesce(r.places, 0) % 4 = 3 then 0 else w.priority end, w.position,'],
  ['insert into turn_rounds (tenant_id, given) values (next.tenant_id, nextval(''turn_place_numbers''))',
    'insert into turn_rounds as r (tenant_id, given, places) values (next.tenant_id, nextval(''turn_place_numbers''), 1)'],
  ['set given = excluded.given;', 'set given = excluded.given, places = r.places + 1;']
]);
select pg_temp.change_parts('longshore_ask_for_turn_place(json, json)', array[
  ['agent_id, agent_most, position)', 'agent_id, agent_most, position, priority)'],
  ['nextval(''turn_place_numbers'')))',
    'nextval(''turn_place_numbers'')),
      coalesce((select min(o.priority) from turn_places o where o.conversation_id = asking->>''parentId''),
        case asking->>''priority'' when ''high'' then 1 when ''low'' then 3 else 2 end))']
]);
drop function pg_temp.change_parts(regprocedure, text[][]);

-- Down Migration
do $body$
begin
  execute replace(replace(replace(pg_get_functiondef('longshore_give_turn_places(json)'::regprocedure),
    'order by coalesce(r.given, 0), min(w.position) over (partition by w.tenant_id), w.tenant_id,
        case when coalesce(r.places, 0) % 4 = 3 then 0 else w.priority end, w.position,',
    'order by coalesce(r.given, 0), w.position,'),
    'insert into turn_rounds as r (tenant_id, given, places) values (next.tenant_id, nextval(''turn_place_numbers''), 1)',
    'insert into turn_rounds (tenant_id, given) values (next.tenant_id, nextval(''turn_place_numbers''))'),
    'set given = excluded.given, places = r.places + 1;', 'set given = excluded.given;');
  execute replace(replace(pg_get_functiondef('longshore_ask_for_turn_place(json, json)'::regprocedure),
    ',
      coalesce((select min(o.priority) from turn_places o where o.conversation_id = asking->>''parentId''),
        case asking->>''priority'' when ''high'' then 1 when ''low'' then 3 else 2 end))', ')'),
    'agent_id, agent_most, position, priority)', 'agent_id, agent_most, position)');
end
$body$;
alter table turn_rounds drop column places;
alter table turn_places drop column priority;
