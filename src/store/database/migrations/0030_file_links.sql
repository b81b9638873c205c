-- Up Migration
-- Links with which somebody without a key reads or writes one file of a sandbox. Of its secret there is only the SHA-256.
create table file_links (
  link_id text primary key,
  tenant_id text not null,
  conversation_id text not null references conversations on delete cascade,
  -- The sandbox that the conversation had when the link was made: the link leads to no later one.
  sandbox_id text not null,
  -- The key that made it, or `oidc:` and the subject of a token. Limits count by it, and the link ends with the key.
  key_id text not null,
  kind text not null check (kind in ('download', 'upload')),
  path text not null,
  -- Of uploads.
  max_bytes bigint,
  secret_sha256 bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index file_links_conversation on file_links (conversation_id);
create index file_links_expiry on file_links (expires_at);
select longshore_keep_apart('file_links', 'tenant_id = longshore_tenant()');

-- Down Migration
drop table file_links;
