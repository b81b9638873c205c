-- Up Migration
-- Row-level security beneath the checks of the HTTP service. Statements for a tenant's key run as the role `longshore_tenant`, with the tenant in a setting of
-- their transaction; every other user of the database (workers, operators) sees all rows. The policies compare the role's name, so that they hold for the
-- owner of the tables, for servers on which nobody may make roles, and for a dump that is restored before the role is there.

-- The tenant in force. No tenant has an empty name, and an unset one equals nothing.
create function longshore_tenant() returns text language sql stable as $body$ select nullif(current_setting('longshore.tenant', true), '') $body$;

-- For every table with rows of tenants, in the migration that makes it. `condition`: whether a row is the tenant's, in the columns of the table. `written`: the
-- same for a row that is written, where it differs.
create function longshore_keep_apart(name text, condition text, written text default null) returns void language plpgsql as $body$
begin
  execute format('alter table %I enable row level security', name);
  execute format('alter table %I force row level security', name);
  execute format('create policy tenants on %I using (current_user <> ''longshore_tenant'' or (%s)) with check (current_user <> ''longshore_tenant'' or (%s))',
    name, condition, coalesce(written, condition));
end
$body$;

-- Whether the tenant in force has the conversation. Volatile, so that it sees one that the same statement has just made.
create function longshore_has_conversation(id text) returns boolean language plpgsql volatile as $body$
begin
  return exists (select from conversations where conversation_id = id);
end
$body$;

select longshore_keep_apart(name, 'tenant_id = longshore_tenant()') from unnest(array[
  'conversations', 'sandboxes', 'snapshots', 'plugin_store', 'api_keys', 'model_calls', 'audit_log'
]) as name;
-- What hangs on a conversation is visible with it: the policy of conversations holds inside this condition, too.
select longshore_keep_apart(name, format('exists (select from conversations c where c.conversation_id = %I.conversation_id)', name),
  'longshore_has_conversation(conversation_id)') from unnest(array[
  'messages', 'transcript', 'tool_calls', 'events'
]) as name;
select longshore_keep_apart('sandbox_samples', 'exists (select from sandboxes s where s.sandbox_id = sandbox_samples.sandbox_id)');

-- Down Migration
do $body$
declare name text;
begin
  for name in select relname from pg_class where relnamespace = current_schema()::regnamespace and relforcerowsecurity loop
    execute format('drop policy tenants on %I', name);
    execute format('alter table %I no force row level security', name);
    execute format('alter table %I disable row level security', name);
  end loop;
end
$body$;
drop function longshore_has_conversation(text);
drop function longshore_keep_apart(text, text, text);
drop function longshore_tenant();
