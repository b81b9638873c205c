-- Up Migration
-- Keys of the HTTP service. A key without a tenant is one of an operator, and sees all of them. Of its secret there is only the SHA-256.
create table api_keys (
  key_id text primary key,
  tenant_id text,
  name text not null,
  scopes text[] not null,
  secret_sha256 bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
create index api_keys_tenant on api_keys (tenant_id, created_at);

-- Down Migration
drop table api_keys;
