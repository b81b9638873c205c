-- Up Migration
-- Where users are signed in at MCP servers. What is sealed is encrypted and bound to its row.
create table mcp_tokens (
  tenant_id text not null,
  user_id text not null,
  -- Name of the server, and its address: what was issued for one address is never sent to another.
  server text not null,
  url text not null,
  -- The authorization server that has issued them.
  issuer text not null,
  -- What they allow, as far as that is known.
  scope text not null,
  -- The tokens, and the client that they were issued to.
  sealed text not null,
  -- Another one after each write, so that of two renewals at a time only one is stored.
  version text not null default gen_random_uuid()::text,
  signed_in_at timestamptz not null default clock_timestamp(),
  renewed_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, user_id, server)
);

-- As what a tenant has registered itself at authorization servers.
create table mcp_clients (
  tenant_id text not null,
  server text not null,
  issuer text not null,
  redirect_uri text not null,
  sealed text not null,
  registered_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, server, issuer, redirect_uri)
);

-- Calls that wait until their user has signed in.
create table mcp_sign_ins (
  sign_in_id text primary key,
  tenant_id text not null,
  user_id text not null,
  server text not null,
  url text not null,
  issuer text not null,
  conversation_id text not null references conversations on delete cascade,
  call_id text not null,
  -- SHA-256 of the secret of the link that the person opens.
  link_sha256 bytea not null unique,
  -- The link, and all that is needed to exchange a code.
  sealed text not null,
  expires_at timestamptz not null,
  -- The newest way of a browser to the authorization server and back: SHA-256 of its state and of the cookie, and the verifier, which is sealed. Used once.
  state_sha256 bytea unique,
  browser_sha256 bytea,
  verifier text,
  state_expires_at timestamptz,
  -- When the user had signed in, and when the call was made again.
  done_at timestamptz,
  resumed_at timestamptz
);
create index mcp_sign_ins_of_call on mcp_sign_ins (call_id);
create index mcp_sign_ins_open on mcp_sign_ins (tenant_id, user_id, server) where done_at is null;
create index mcp_sign_ins_of_conversation on mcp_sign_ins (conversation_id);
select longshore_keep_apart(name, 'tenant_id = longshore_tenant()') from unnest(array['mcp_tokens', 'mcp_clients', 'mcp_sign_ins']) as name;

-- Down Migration
drop table mcp_sign_ins;
drop table mcp_clients;
drop table mcp_tokens;
