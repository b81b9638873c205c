-- Up Migration
-- Values of plugins. A row with a conversation, a user or both belongs to them; what belongs to a conversation goes with it.
create table plugin_store (
  plugin_id text not null,
  tenant_id text not null,
  conversation_id text references conversations on delete cascade,
  user_id text,
  key text not null,
  value json not null,
  version bigint not null,
  expires_at timestamptz,
  updated_at timestamptz not null default clock_timestamp()
);
create unique index plugin_store_key on plugin_store (plugin_id, tenant_id, coalesce(conversation_id, ''), coalesce(user_id, ''), key collate "C");
create index plugin_store_of_conversation on plugin_store (conversation_id);
create index plugin_store_expiring on plugin_store (expires_at) where expires_at is not null;
-- One sequence for all: a version never comes back, not even for a key that was deleted and set again.
create sequence plugin_store_versions;

-- Down Migration
drop table plugin_store;
drop sequence plugin_store_versions;
