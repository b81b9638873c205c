-- Up Migration
-- Links with which somebody without a key answers one approval, once. Of its secret there is only the SHA-256.
create table approval_links (
  link_id text primary key,
  tenant_id text not null,
  conversation_id text not null references conversations on delete cascade,
  call_id text not null,
  -- Of the call as it was when the link was made: an answer to another call is refused.
  hash text not null,
  secret_sha256 bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index approval_links_conversation on approval_links (conversation_id);
create index approval_links_expiry on approval_links (expires_at);
select longshore_keep_apart('approval_links', 'tenant_id = longshore_tenant()');

-- Down Migration
drop table approval_links;
