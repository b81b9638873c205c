-- Up Migration
-- Addresses at which outside systems reach functions of plugins. Of the secret in an address there is only the SHA-256.
create table plugin_webhooks (
  webhook_id text primary key,
  tenant_id text not null,
  plugin_id text not null,
  endpoint text not null,
  secret_sha256 bytea not null,
  created_at timestamptz not null default now(),
  -- When the newest request came.
  last_at timestamptz,
  delivered bigint not null default 0,
  failed bigint not null default 0,
  -- Why the newest request that has ended has failed; null when it has not.
  problem text
);
create index plugin_webhooks_plugin on plugin_webhooks (plugin_id, tenant_id);
select longshore_keep_apart('plugin_webhooks', 'tenant_id = longshore_tenant()');

-- Requests to these addresses. One that has ended is kept for a day without what it said, so that it is known when its sender repeats it.
create table plugin_requests (
  request_id text primary key,
  webhook_id text not null references plugin_webhooks on delete cascade,
  tenant_id text not null,
  -- In the order in which they came.
  number bigint generated always as identity,
  -- SHA-256 of the id that the sender has given it; null when it has given none.
  sender_sha256 bytea,
  headers json,
  body bytea,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  received_at timestamptz not null default clock_timestamp(),
  -- When a worker may take it. A worker that has it moves this on.
  due_at timestamptz not null default clock_timestamp(),
  -- When a worker first was about to call the function.
  begun_at timestamptz,
  -- How often the function certainly was not called.
  attempts integer not null default 0,
  ended_at timestamptz
);
create index plugin_requests_waiting on plugin_requests (webhook_id, number) where state = 'waiting';
create index plugin_requests_received on plugin_requests (webhook_id, received_at);
create index plugin_requests_sender on plugin_requests (webhook_id, sender_sha256) where sender_sha256 is not null;
create index plugin_requests_ended on plugin_requests (ended_at) where ended_at is not null;
select longshore_keep_apart('plugin_requests', 'tenant_id = longshore_tenant()');

-- Accepts a request. `known`: its sender has sent it before, and it has not failed. `full`: so many requests or bytes wait. `often`: so many came within a minute.
-- `ended`: there is no such address.
create function longshore_accept_plugin_request(in_webhook text, in_request text, in_sender bytea, in_headers text, in_body bytea, most_waiting integer, most_bytes bigint,
  most_a_minute integer) returns table (outcome text, accepted_id text) language plpgsql volatile as $body$
declare
  tenant text;
  known text;
begin
  -- One after the other, so that the limits hold.
  select w.tenant_id into tenant from plugin_webhooks w where w.webhook_id = in_webhook for no key update;
  if not found then
    return query select 'ended', null::text;
    return;
  end if;
  select r.request_id into known from plugin_requests r where r.webhook_id = in_webhook and r.sender_sha256 = in_sender and r.state <> 'failed' limit 1;
  if found then
    return query select 'known', known;
    return;
  end if;
  if (select count(*) >= most_a_minute from plugin_requests r where r.webhook_id = in_webhook and r.received_at > clock_timestamp() - interval '1 minute') then
    return query select 'often', null::text;
    return;
  end if;
  if (select count(*) >= most_waiting or coalesce(sum(octet_length(r.body)), 0) + octet_length(in_body) > most_bytes
      from plugin_requests r where r.webhook_id = in_webhook and r.state = 'waiting') then
    return query select 'full', null::text;
    return;
  end if;
  insert into plugin_requests (request_id, webhook_id, tenant_id, sender_sha256, headers, body)
    values (in_request, in_webhook, tenant, in_sender, in_headers::json, in_body);
  update plugin_webhooks w set last_at = clock_timestamp() where w.webhook_id = in_webhook;
  return query select 'accepted', in_request;
end
$body$;

-- Down Migration
drop function longshore_accept_plugin_request(text, text, bytea, text, bytea, integer, bigint, integer);
drop table plugin_requests;
drop table plugin_webhooks;
