-- Up Migration
-- Turns that are counted, because a limit of running turns is in force. `held`: it runs. `waiting`: for a place, in the order of `position`. `away`: it has begun,
-- waits for something else and needs no place meanwhile.
create table turn_places (
  conversation_id text not null references conversations (conversation_id) on delete cascade,
  turn_id text not null,
  tenant_id text not null,
  agent_id text not null,
  -- What the agent's file allows; absent without a limit.
  agent_most double precision,
  state text not null default 'waiting' check (state in ('held', 'waiting', 'away')),
  -- Kept while the turn is away. Turns of sub-agents have that of the turn that gave the task.
  position bigint not null,
  -- Numbers the places that were given; absent until the turn gets one.
  given bigint,
  -- The workflow knows of the place that was given last.
  told boolean not null default false,
  asked_at timestamptz not null default clock_timestamp(),
  primary key (conversation_id, turn_id)
);
-- When each tenant was given a place: the one that has waited longest since then comes next.
create table turn_rounds (
  tenant_id text primary key,
  given bigint not null
);
create sequence turn_place_numbers;
select longshore_keep_apart(name, 'tenant_id = longshore_tenant()') from unnest(array['turn_places', 'turn_rounds']) as name;

-- Whether a turn can run no more. What it finds is never undone.
create function longshore_turn_is_over(in_conversation text, in_turn text) returns boolean language sql stable as $body$
  select not exists (select from conversations c where c.conversation_id = in_conversation and c.state <> 'closed')
    or exists (select from events e where e.conversation_id = in_conversation and e.type = 'turn.finished' and e.turn_id = in_turn)
$body$;

-- Gives places while there are any. `defaults`: `installation` and `tenant`, each absent without a limit. Who calls it holds the lock of all places.
create function longshore_give_turn_places(defaults json) returns void language plpgsql volatile as $body$
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

-- Places that were given to workflows which do not know of them.
create function longshore_untold_turn_places() returns json language sql stable as $body$
  select coalesce(json_agg(json_build_object('conversationId', p.conversation_id, 'turnId', p.turn_id, 'given', p.given) order by p.given), '[]')
    from turn_places p where p.state = 'held' and not p.told
$body$;

-- Asks for a place. `outcome`: `over` for a turn that can run no more, and so needs none; `held`; `waits`, with the limit that is reached.
create function longshore_ask_for_turn_place(asking json, defaults json) returns json language plpgsql volatile as $body$
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

-- Gives a place back, at the end of the turn or for a time. Returns who has got one and does not know of it.
create function longshore_leave_turn_place(in_conversation text, in_turn text, ends boolean, defaults json) returns json language plpgsql volatile as $body$
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

-- Takes back the places of turns that ended without giving them back, and gives all that are free. Returns who has got one and does not know of it.
create function longshore_sweep_turn_places(defaults json) returns json language plpgsql volatile as $body$
begin
  if not exists (select from turn_places) then
    return '[]'::json;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('turn places', 0));
  delete from turn_places p where longshore_turn_is_over(p.conversation_id, p.turn_id);
  perform longshore_give_turn_places(defaults);
  return longshore_untold_turn_places();
end
$body$;

-- Down Migration
drop function longshore_sweep_turn_places(json);
drop function longshore_leave_turn_place(text, text, boolean, json);
drop function longshore_ask_for_turn_place(json, json);
drop function longshore_untold_turn_places();
drop function longshore_give_turn_places(json);
drop function longshore_turn_is_over(text, text);
drop sequence turn_place_numbers;
drop table turn_rounds;
drop table turn_places;
