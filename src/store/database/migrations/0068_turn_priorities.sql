-- Up Migration
-- 1 is high, 2 normal, 3 low. Turns of sub-agents have that of the turn that gave the task.
alter table turn_places add column priority smallint not null default 2;
-- How many places the tenant has been given. Each fourth one goes to the turn that comes first in the order of all, whatever its priority is, so that each gets one.
alter table turn_rounds add column places bigint not null default 0;

-- Gives places while there are any. `defaults`: `installation` and `tenant`, each absent without a limit. Who calls it holds the lock of all places.
create or replace function longshore_give_turn_places(defaults json) returns void language plpgsql volatile as $body$
declare
  next record;
begin
  loop
    select w.conversation_id, w.turn_id, w.tenant_id into next from turn_places w
      left join turn_rounds r on r.tenant_id = w.tenant_id
      left join limits l on l.subject = 'tenant:' || w.tenant_id
      left join (select h.tenant_id, count(*) as running from turn_places h where h.state = 'held' group by h.tenant_id) t on t.tenant_id = w.tenant_id
      left join (select h.agent_id, count(*) as running from turn_places h where h.state = 'held' group by h.agent_id) a on a.agent_id = w.agent_id
      where w.state = 'waiting'
        and coalesce(t.running, 0) < coalesce((l.limits->>'runningTurns')::double precision, (defaults->>'tenant')::double precision, 'Infinity')
        and coalesce(a.running, 0) < coalesce(w.agent_most, 'Infinity')
        and (select count(*) from turn_places h where h.state = 'held') < coalesce((defaults->>'installation')::double precision, 'Infinity')
      -- Tenants that have got none yet come in the order of their first turns.
      order by coalesce(r.given, 0), min(w.position) over (partition by w.tenant_id), w.tenant_id,
        case when coalesce(r.places, 0) % 4 = 3 then 0 else w.priority end, w.position, w.asked_at, w.conversation_id limit 1;
    exit when not found;
    if longshore_turn_is_over(next.conversation_id, next.turn_id) then
      delete from turn_places p where p.conversation_id = next.conversation_id and p.turn_id = next.turn_id;
    else
      update turn_places p set state = 'held', given = nextval('turn_place_numbers'), told = false
        where p.conversation_id = next.conversation_id and p.turn_id = next.turn_id;
      insert into turn_rounds as r (tenant_id, given, places) values (next.tenant_id, nextval('turn_place_numbers'), 1)
        on conflict (tenant_id) do update set given = excluded.given, places = r.places + 1;
    end if;
  end loop;
end
$body$;

-- Asks for a place. `outcome`: `over` for a turn that can run no more, and so needs none; `held`; `waits`, with the limit that is reached.
create or replace function longshore_ask_for_turn_place(asking json, defaults json) returns json language plpgsql volatile as $body$
declare
  conversation text := asking->>'conversationId';
  turn text := asking->>'turnId';
  mine turn_places;
  reached json;
begin
  -- Only the turn itself gives its place back, so the steps of a turn that has one wait for nobody.
  if exists (select from turn_places p where p.conversation_id = conversation and p.turn_id = turn and p.state = 'held' and p.told) then
    return json_build_object('outcome', 'held', 'others', '[]'::json);
  end if;
  perform pg_advisory_xact_lock(hashtextextended('turn places', 0));
  if longshore_turn_is_over(conversation, turn) then
    return json_build_object('outcome', 'over', 'others', '[]'::json);
  end if;
  insert into turn_places as p (conversation_id, turn_id, tenant_id, agent_id, agent_most, position, priority)
    values (conversation, turn, asking->>'tenantId', asking->>'agentId', (asking->>'agentMost')::double precision,
      coalesce((select min(o.position) from turn_places o where o.conversation_id = asking->>'parentId'), nextval('turn_place_numbers')),
      coalesce((select min(o.priority) from turn_places o where o.conversation_id = asking->>'parentId'),
        case asking->>'priority' when 'high' then 1 when 'low' then 3 else 2 end))
    on conflict (conversation_id, turn_id) do update set
      agent_most = excluded.agent_most, state = case p.state when 'away' then 'waiting' else p.state end;
  perform longshore_give_turn_places(defaults);
  update turn_places p set told = true where p.conversation_id = conversation and p.turn_id = turn and p.state = 'held';
  select p.* into mine from turn_places p where p.conversation_id = conversation and p.turn_id = turn;
  if not found then
    return json_build_object('outcome', 'over', 'others', longshore_untold_turn_places());
  end if;
  if mine.state = 'held' then
    return json_build_object('outcome', 'held', 'others', longshore_untold_turn_places());
  end if;
  select json_build_object('limit', f.name_of_limit, 'name', f.whose, 'running', f.running, 'allowed', f.allowed) into reached from (
      select 1 as place, 'agent' as name_of_limit, mine.agent_id as whose, mine.agent_most as allowed,
        (select count(*) from turn_places h where h.state = 'held' and h.agent_id = mine.agent_id) as running
      union all select 2, 'tenant', mine.tenant_id,
        coalesce((select (l.limits->>'runningTurns')::double precision from limits l where l.subject = 'tenant:' || mine.tenant_id),
          (defaults->>'tenant')::double precision),
        (select count(*) from turn_places h where h.state = 'held' and h.tenant_id = mine.tenant_id)
      union all select 3, 'installation', null, (defaults->>'installation')::double precision, (select count(*) from turn_places h where h.state = 'held')
    ) f where f.running >= f.allowed order by f.place limit 1;
  return json_build_object('outcome', 'waits', 'waits', reached, 'others', longshore_untold_turn_places());
end
$body$;

-- Down Migration
create or replace function longshore_ask_for_turn_place(asking json, defaults json) returns json language plpgsql volatile as $body$
declare
  conversation text := asking->>'conversationId';
  turn text := asking->>'turnId';
  mine turn_places;
  reached json;
begin
  -- Only the turn itself gives its place back, so the steps of a turn that has one wait for nobody.
  if exists (select from turn_places p where p.conversation_id = conversation and p.turn_id = turn and p.state = 'held' and p.told) then
    return json_build_object('outcome', 'held', 'others', '[]'::json);
  end if;
  perform pg_advisory_xact_lock(hashtextextended('turn places', 0));
  if longshore_turn_is_over(conversation, turn) then
    return json_build_object('outcome', 'over', 'others', '[]'::json);
  end if;
  insert into turn_places as p (conversation_id, turn_id, tenant_id, agent_id, agent_most, position)
    values (conversation, turn, asking->>'tenantId', asking->>'agentId', (asking->>'agentMost')::double precision,
      coalesce((select min(o.position) from turn_places o where o.conversation_id = asking->>'parentId'), nextval('turn_place_numbers')))
    on conflict (conversation_id, turn_id) do update set
      agent_most = excluded.agent_most, state = case p.state when 'away' then 'waiting' else p.state end;
  perform longshore_give_turn_places(defaults);
  update turn_places p set told = true where p.conversation_id = conversation and p.turn_id = turn and p.state = 'held';
  select p.* into mine from turn_places p where p.conversation_id = conversation and p.turn_id = turn;
  if not found then
    return json_build_object('outcome', 'over', 'others', longshore_untold_turn_places());
  end if;
  if mine.state = 'held' then
    return json_build_object('outcome', 'held', 'others', longshore_untold_turn_places());
  end if;
  select json_build_object('limit', f.name_of_limit, 'name', f.whose, 'running', f.running, 'allowed', f.allowed) into reached from (
      select 1 as place, 'agent' as name_of_limit, mine.agent_id as whose, mine.agent_most as allowed,
        (select count(*) from turn_places h where h.state = 'held' and h.agent_id = mine.agent_id) as running
      union all select 2, 'tenant', mine.tenant_id,
        coalesce((select (l.limits->>'runningTurns')::double precision from limits l where l.subject = 'tenant:' || mine.tenant_id),
          (defaults->>'tenant')::double precision),
        (select count(*) from turn_places h where h.state = 'held' and h.tenant_id = mine.tenant_id)
      union all select 3, 'installation', null, (defaults->>'installation')::double precision, (select count(*) from turn_places h where h.state = 'held')
    ) f where f.running >= f.allowed order by f.place limit 1;
  return json_build_object('outcome', 'waits', 'waits', reached, 'others', longshore_untold_turn_places());
end
$body$;
create or replace function longshore_give_turn_places(defaults json) returns void language plpgsql volatile as $body$
declare
  next record;
begin
  loop
    select w.conversation_id, w.turn_id, w.tenant_id into next from turn_places w
      left join turn_rounds r on r.tenant_id = w.tenant_id
      left join limits l on l.subject = 'tenant:' || w.tenant_id
      left join (select h.tenant_id, count(*) as running from turn_places h where h.state = 'held' group by h.tenant_id) t on t.tenant_id = w.tenant_id
      left join (select h.agent_id, count(*) as running from turn_places h where h.state = 'held' group by h.agent_id) a on a.agent_id = w.agent_id
      where w.state = 'waiting'
        and coalesce(t.running, 0) < coalesce((l.limits->>'runningTurns')::double precision, (defaults->>'tenant')::double precision, 'Infinity')
        and coalesce(a.running, 0) < coalesce(w.agent_most, 'Infinity')
        and (select count(*) from turn_places h where h.state = 'held') < coalesce((defaults->>'installation')::double precision, 'Infinity')
      order by coalesce(r.given, 0), w.position, w.asked_at, w.conversation_id limit 1;
    exit when not found;
    if longshore_turn_is_over(next.conversation_id, next.turn_id) then
      delete from turn_places p where p.conversation_id = next.conversation_id and p.turn_id = next.turn_id;
    else
      update turn_places p set state = 'held', given = nextval('turn_place_numbers'), told = false
        where p.conversation_id = next.conversation_id and p.turn_id = next.turn_id;
      insert into turn_rounds (tenant_id, given) values (next.tenant_id, nextval('turn_place_numbers'))
        on conflict (tenant_id) do update set given = excluded.given;
    end if;
  end loop;
end
$body$;
alter table turn_rounds drop column places;
alter table turn_places drop column priority;
