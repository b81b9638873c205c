-- Up Migration
-- Who changed what. Rows are only ever added: a trigger refuses everything else, also for the owner of the table.
create table audit_log (
  audit_id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  -- Null: of the whole installation.
  tenant_id text,
  actor_kind text not null,
  actor_id text not null,
  request_id text,
  action text not null,
  target text not null,
  details json not null,
  -- Set where a repeated activity must not add its row twice.
  once_key text
);
create unique index audit_log_once on audit_log (once_key) where once_key is not null;
create index audit_log_tenant on audit_log (tenant_id, audit_id);
create index audit_log_target on audit_log (target, audit_id);
create index audit_log_actor on audit_log (actor_id, audit_id);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_log is append-only: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_log_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_audit_change();
-- Also for sessions that replicate.
alter table audit_log enable always trigger audit_log_append_only;

-- Down Migration
drop table audit_log;
drop function refuse_audit_change();
