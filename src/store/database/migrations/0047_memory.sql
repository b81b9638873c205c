-- Up Migration
-- Text files that agents and people keep between conversations. They belong to a user, a tenant or an agent of a tenant, and not to a conversation.
create table memory_places (
  tenant_id text not null,
  scope text not null check (scope in ('user', 'tenant', 'agent')),
  -- Id of the user or the agent; empty for a tenant.
  owner text not null,
  -- Counts what was written and removed. The numbers are the versions of the files, so that none is used twice.
  writes bigint not null default 0,
  primary key (tenant_id, scope, owner)
);
create table memory_versions (
  tenant_id text not null,
  scope text not null,
  owner text not null,
  path text not null collate "C",
  version bigint not null,
  -- Null: the file was removed with this version.
  content text,
  bytes integer not null,
  at timestamptz not null default clock_timestamp(),
  -- Whether it is the newest one of its path.
  newest boolean not null default true,
  writer_kind text not null,
  writer_id text not null,
  call_id text,
  -- The user for whom it was written, so that nothing leads to one who is erased.
  writer_user text,
  primary key (tenant_id, scope, owner, version),
  foreign key (tenant_id, scope, owner) references memory_places on delete cascade
);
create unique index memory_versions_newest on memory_versions (tenant_id, scope, owner, path) where newest;
create index memory_versions_of_path on memory_versions (tenant_id, scope, owner, path, version desc);
create unique index memory_versions_call on memory_versions (tenant_id, scope, owner, call_id) where call_id is not null;
create index memory_versions_user on memory_versions (tenant_id, writer_user) where writer_user is not null;
select longshore_keep_apart(name, 'tenant_id = longshore_tenant()') from unnest(array['memory_places', 'memory_versions']) as name;

-- Writes a file, or removes it when there is no content, if `expected` is its version (0: there is none). One memory is changed by one caller at a time.
-- Outcome: `written`, also for a call that has done so before; `conflict`; `files` and `bytes`: there is no room.
create function longshore_write_memory(
  in_tenant text, in_scope text, in_owner text, in_path text, in_content text, expected bigint, writer json, limits json
) returns table (outcome text, new_version bigint, new_at timestamptz, is_repeated boolean) language plpgsql volatile as $body$
declare
  size integer := coalesce(octet_length(in_content), 0);
  call text := writer->>'callId';
  held bigint;
  others integer;
  others_bytes bigint;
begin
  insert into memory_places (tenant_id, scope, owner) values (in_tenant, in_scope, in_owner) on conflict do nothing;
  perform 1 from memory_places p where p.tenant_id = in_tenant and p.scope = in_scope and p.owner = in_owner for update;
  select v.version, v.at into new_version, new_at from memory_versions v
    where v.tenant_id = in_tenant and v.scope = in_scope and v.owner = in_owner and v.call_id = call;
  if found then
    return query select 'written', new_version, new_at, true;
    return;
  end if;
  select v.version into held from memory_versions v
    where v.tenant_id = in_tenant and v.scope = in_scope and v.owner = in_owner and v.path = in_path and v.newest and v.content is not null;
  if coalesce(held, 0) <> expected or (in_content is null and held is null) then
    return query select 'conflict', coalesce(held, 0), null::timestamptz, false;
    return;
  end if;
  if in_content is not null then
    select count(*), coalesce(sum(v.bytes), 0) into others, others_bytes from memory_versions v
      where v.tenant_id = in_tenant and v.scope = in_scope and v.owner = in_owner and v.newest and v.content is not null and v.path <> in_path;
    if others >= (limits->>'files')::integer then
      return query select 'files', coalesce(held, 0), null::timestamptz, false;
      return;
    end if;
    if others_bytes + size > (limits->>'bytes')::bigint then
      return query select 'bytes', coalesce(held, 0), null::timestamptz, false;
      return;
    end if;
  end if;
  update memory_places p set writes = writes + 1 where p.tenant_id = in_tenant and p.scope = in_scope and p.owner = in_owner
    returning p.writes into new_version;
  update memory_versions v set newest = false
    where v.tenant_id = in_tenant and v.scope = in_scope and v.owner = in_owner and v.path = in_path and v.newest;
  insert into memory_versions as v (tenant_id, scope, owner, path, version, content, bytes, writer_kind, writer_id, call_id, writer_user)
    values (in_tenant, in_scope, in_owner, in_path, new_version, in_content, size, writer->>'kind', writer->>'id', call, writer->>'userId')
    returning v.at into new_at;
  -- The oldest go first, and so those of a removed file before what says that it was removed.
  delete from memory_versions v using (
    select o.version, row_number() over (partition by o.path order by o.version desc) as nth_of_path,
      row_number() over (order by o.version desc) as nth, sum(o.bytes) over (order by o.version desc) as total
    from memory_versions o where o.tenant_id = in_tenant and o.scope = in_scope and o.owner = in_owner and not (o.newest and o.content is not null)
  ) older
  where v.tenant_id = in_tenant and v.scope = in_scope and v.owner = in_owner and v.version = older.version
    and (older.nth_of_path >= (limits->>'versions')::integer or older.nth > (limits->>'olderVersions')::integer or older.total > (limits->>'olderBytes')::bigint);
  return query select 'written', new_version, new_at, false;
end
$body$;

-- Down Migration
drop function longshore_write_memory(text, text, text, text, text, bigint, json, json);
drop table memory_versions;
drop table memory_places;
