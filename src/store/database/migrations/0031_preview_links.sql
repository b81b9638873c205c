-- Up Migration
-- Links with which somebody without a key sees what listens on one port of a conversation's sandbox. Of its secret there is only the SHA-256.
create table preview_links (
  link_id text primary key,
  tenant_id text not null,
  conversation_id text not null references conversations on delete cascade,
  port integer not null,
  -- The key that made it, or `oidc:` and the subject of a token. Limits count by it, and the link ends with the key.
  key_id text not null,
  secret_sha256 bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index preview_links_conversation on preview_links (conversation_id);
create index preview_links_expiry on preview_links (expires_at);
select longshore_keep_apart('preview_links', 'tenant_id = longshore_tenant()');

-- Down Migration
drop table preview_links;
