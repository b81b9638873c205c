-- Up Migration
-- Which activity of the turn's workflow changed the place last: its run, and its number in that run. What an earlier one of the same run asks for comes too late.
-- The position is 0 while the turn has not asked for a place, but has rested already.
alter table turn_places add column by_run text, add column by_number integer;

-- `asking` has `by`, too: what asks, as `run` and `number`; absent from workers of earlier versions.
create or replace function longshore_ask_for_turn_place(asking json, defaults json) returns json language plpgsql volatile as $body$
declare
  conversation text := asking->>'conversationId';
  turn text := asking->>'turnId';
  run text := asking->'by'->>'run';
  number integer := (asking->'by'->>'number')::integer;
  mine turn_places;
  is_late boolean;
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
  -- The turn has gone on without what this would get, and would not give it back.
  is_late := exists (select from turn_places p where p.conversation_id = conversation and p.turn_id = turn and p.by_run = run and p.by_number > number);
  if not is_late then
    insert into turn_places as p (conversation_id, turn_id, tenant_id, agent_id, agent_most, position, priority, by_run, by_number)
      values (conversation, turn, asking->>'tenantId', asking->>'agentId', (asking->>'agentMost')::double precision,
        coalesce((select min(o.position) from turn_places o where o.conversation_id = asking->>'parentId' and o.position > 0), nextval('turn_place_numbers')),
        coalesce((select min(o.priority) from turn_places o where o.conversation_id = asking->>'parentId' and o.position > 0),
          case asking->>'priority' when 'high' then 1 when 'low' then 3 else 2 end), run, number)
      on conflict (conversation_id, turn_id) do update set
        agent_most = excluded.agent_most, state = case p.state when 'away' then 'waiting' else p.state end, by_run = excluded.by_run, by_number = excluded.by_number,
        position = case p.position when 0 then excluded.position else p.position end, priority = case p.position when 0 then excluded.priority else p.priority end;
    perform longshore_give_turn_places(defaults);
    update turn_places p set told = true where p.conversation_id = conversation and p.turn_id = turn and p.state = 'held';
  end if;
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
    ) f where f.running >= f.allowed or is_late and f.allowed is not null order by f.running < f.allowed, f.place limit 1;
  return json_build_object('outcome', 'waits', 'waits', reached, 'others', longshore_untold_turn_places());
end
$body$;

-- Gives a place back, at the end of the turn or for a time. Returns who has got one and does not know of it. `defaults` has `by`, too, as `asking` above.
create or replace function longshore_leave_turn_place(in_conversation text, in_turn text, ends boolean, defaults json) returns json
  language plpgsql volatile as $body$
declare
  run text := defaults->'by'->>'run';
  number integer := (defaults->'by'->>'number')::integer;
begin
  if (ends or run is null) and not exists (select from turn_places p where p.conversation_id = in_conversation and p.turn_id = in_turn) then
    return '[]'::json;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('turn places', 0));
  if ends then
    delete from turn_places p where p.conversation_id = in_conversation and p.turn_id = in_turn;
  else
    update turn_places p set state = 'away', by_run = run, by_number = number
      where p.conversation_id = in_conversation and p.turn_id = in_turn and (p.by_run = run and p.by_number > number) is not true;
    -- What has asked before may still come.
    insert into turn_places (conversation_id, turn_id, tenant_id, agent_id, state, position, by_run, by_number)
      select c.conversation_id, in_turn, c.tenant_id, c.agent_id, 'away', 0, run, number from conversations c
        where run is not null and c.conversation_id = in_conversation and not longshore_turn_is_over(in_conversation, in_turn)
      on conflict do nothing;
  end if;
  perform longshore_give_turn_places(defaults);
  return longshore_untold_turn_places();
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
create or replace function longshore_leave_turn_place(in_conversation text, in_turn text, ends boolean, defaults json) returns json language plpgsql volatile as $body$
begin
  if not exists (select from turn_places p where p.conversation_id = in_conversation and p.turn_id = in_turn) then
    return '[]'::json;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('turn places', 0));
  if ends then
    delete from turn_places p where p.conversation_id = in_conversation and p.turn_id = in_turn;
  else
    update turn_places p set state = 'away' where p.conversation_id = in_conversation and p.turn_id = in_turn;
  end if;
  perform longshore_give_turn_places(defaults);
  return longshore_untold_turn_places();
end
$body$;
alter table turn_places drop column by_run, drop column by_number;
