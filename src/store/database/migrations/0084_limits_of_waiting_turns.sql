-- Up Migration
-- Takes back the places of turns that ended without giving them back, and gives all that are free. Returns who has got one and does not know of it.
-- `defaults` has `agents`, too: what their files allow now. Turns that wait have asked with what these allowed then, and do not ask again for some time.
create or replace function longshore_sweep_turn_places(defaults json) returns json language plpgsql volatile as $body$
begin
  if not exists (select from turn_places) then
    return '[]'::json;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('turn places', 0));
  delete from turn_places p where longshore_turn_is_over(p.conversation_id, p.turn_id);
  update turn_places p set agent_most = (a.value #>> '{}')::double precision from jsonb_each((defaults->'agents')::jsonb) a
    where a.key = p.agent_id and p.agent_most is distinct from (a.value #>> '{}')::double precision;
  perform longshore_give_turn_places(defaults);
  return longshore_untold_turn_places();
end
$body$;

-- Down Migration
create or replace function longshore_sweep_turn_places(defaults json) returns json language plpgsql volatile as $body$
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
