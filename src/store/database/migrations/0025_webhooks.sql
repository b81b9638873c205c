-- Up Migration
-- Endpoints of tenants that events are sent to, the events that wait for each of them, and what came of each attempt.
create table webhooks (
  webhook_id text primary key,
  tenant_id text not null,
  url text not null,
  -- Types of events; null: all but the pieces of what is being written.
  types text[],
  -- Null: all agents.
  agents text[],
  secret text not null,
  old_secret text,
  old_secret_until timestamptz,
  state text not null default 'active' check (state in ('active', 'disabled')),
  why text,
  created_at timestamptz not null default clock_timestamp(),
  -- Attempts that have failed since the last one that did not.
  failures integer not null default 0,
  failing_since timestamptz,
  -- When a worker should look after the sender, if events wait.
  due_at timestamptz not null default '-infinity',
  -- The run of the sender that may send now; an earlier one that still lives stops when it sees another.
  sender text
);
create index webhooks_of_tenant on webhooks (tenant_id, created_at);

-- No reference to webhooks: to check it, a statement that logs events would wait for the removal of an endpoint, and fail.
create table webhook_deliveries (
  delivery_id bigint generated always as identity primary key,
  webhook_id text not null,
  tenant_id text not null,
  conversation_id text not null references conversations on delete cascade,
  seq integer not null,
  queued_at timestamptz not null default clock_timestamp(),
  delivered_at timestamptz,
  unique (conversation_id, seq, webhook_id)
);
create index webhook_deliveries_waiting on webhook_deliveries (webhook_id, delivery_id) where delivered_at is null;
create index webhook_deliveries_in_order on webhook_deliveries (webhook_id, conversation_id, seq) where delivered_at is null;
create index webhook_deliveries_old on webhook_deliveries (queued_at);

create table webhook_attempts (
  attempt_id bigint generated always as identity primary key,
  webhook_id text not null,
  tenant_id text not null,
  -- Absent when no event was sent.
  conversation_id text references conversations on delete cascade,
  seq integer,
  type text,
  at timestamptz not null default clock_timestamp(),
  took_ms integer not null,
  outcome text not null check (outcome in ('delivered', 'failed', 'dropped', 'disabled')),
  status integer,
  problem text,
  retry_at timestamptz
);
create index webhook_attempts_newest on webhook_attempts (webhook_id, attempt_id desc);
create index webhook_attempts_of_conversation on webhook_attempts (conversation_id);
create index webhook_attempts_old on webhook_attempts (at);

select longshore_keep_apart(name, 'tenant_id = longshore_tenant()') from unnest(array['webhooks', 'webhook_deliveries', 'webhook_attempts']) as name;

-- Queues events in the transaction that logs them, whichever statement that is. A transaction holds the row of its conversation until it commits, so
-- whoever sees an event here sees all earlier ones of its conversation; those of other conversations may come later, with lower numbers.
create function queue_webhook_deliveries() returns trigger language plpgsql as $$
begin
  if exists (select from webhooks where state = 'active') then
    insert into webhook_deliveries (webhook_id, tenant_id, conversation_id, seq)
    select h.webhook_id, h.tenant_id, a.conversation_id, a.seq
    from added a join conversations c on c.conversation_id = a.conversation_id
      join webhooks h on h.tenant_id = c.tenant_id and h.state = 'active'
        and (h.agents is null or c.agent_id = any(h.agents))
        and (a.type = any(h.types) or (h.types is null and a.type not in ('text.delta', 'reasoning.delta', 'tool.output')))
    order by a.conversation_id, a.seq, h.webhook_id
    on conflict do nothing;
  end if;
  return null;
end $$;
create trigger events_to_webhooks after insert on events referencing new table as added for each statement execute function queue_webhook_deliveries();

-- Down Migration
drop trigger events_to_webhooks on events;
drop function queue_webhook_deliveries();
drop table webhook_attempts;
drop table webhook_deliveries;
drop table webhooks;
