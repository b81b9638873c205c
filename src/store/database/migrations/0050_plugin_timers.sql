-- Up Migration
-- Timers that plugins have set for conversations. One that is over is kept for a day without its text, so that a repeated wish does not set it again.
create table plugin_timers (
  conversation_id text not null references conversations on delete cascade,
  plugin_id text not null,
  timer_id text not null,
  due_at timestamptz not null,
  text text not null,
  -- A conversation has one temporary timer of a plugin at most.
  temporary boolean not null,
  set_at timestamptz not null default clock_timestamp(),
  -- When it went off, was cleared or was replaced.
  over_at timestamptz,
  primary key (conversation_id, plugin_id, timer_id)
);
create index plugin_timers_waiting on plugin_timers (due_at) where over_at is null;
create index plugin_timers_over on plugin_timers (over_at) where over_at is not null;
select longshore_keep_apart('plugin_timers', 'exists (select from conversations c where c.conversation_id = plugin_timers.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- Sets a timer once. `closed`: the conversation takes none. `full`: so many of the plugin wait there, or were set there within an hour.
create function longshore_set_plugin_timer(in_conversation text, in_plugin text, in_timer text, in_due timestamptz, in_text text, in_temporary boolean, most integer)
returns text language plpgsql volatile as $body$
begin
  -- One after the other, so that the limit holds.
  perform from conversations c where c.conversation_id = in_conversation and c.state <> 'closed' for no key update;
  if not found then
    return 'closed';
  end if;
  if exists (select from plugin_timers t where t.conversation_id = in_conversation and t.plugin_id = in_plugin and t.timer_id = in_timer) then
    return 'set';
  end if;
  if (select count(*) >= most from plugin_timers t where t.conversation_id = in_conversation and t.plugin_id = in_plugin
      and (t.over_at is null or t.set_at > clock_timestamp() - interval '1 hour')) then
    return 'full';
  end if;
  if in_temporary then
    update plugin_timers t set over_at = clock_timestamp(), text = ''
      where t.conversation_id = in_conversation and t.plugin_id = in_plugin and t.temporary and t.over_at is null;
  end if;
  insert into plugin_timers (conversation_id, plugin_id, timer_id, due_at, text, temporary)
    values (in_conversation, in_plugin, in_timer, in_due, in_text, in_temporary);
  return 'set';
end
$body$;

-- Down Migration
drop function longshore_set_plugin_timer(text, text, text, timestamptz, text, boolean, integer);
drop table plugin_timers;
