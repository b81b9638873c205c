-- Up Migration
-- Bytes of attachments and of images and files in results. The same bytes are stored once for a tenant, and as long as a conversation uses them.
create table media (
  tenant_id text not null,
  -- Hexadecimal.
  sha256 text not null,
  bytes integer not null,
  data bytea not null,
  -- When they were last given: what is given just now is not removed.
  kept_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, sha256)
);
-- Images and documents are packed already.
alter table media alter column data set storage external;
select longshore_keep_apart('media', 'tenant_id = longshore_tenant()');

-- The reference keeps the bytes: they cannot be removed while one is there.
create table media_uses (
  conversation_id text not null references conversations on delete cascade,
  tenant_id text not null,
  sha256 text not null,
  media_type text not null,
  -- `image` or `file`.
  kind text not null,
  -- Null: of a result of a tool.
  name text,
  -- A message of the user has them. Those that only results have go with the details of calls, long after the end.
  by_message boolean not null,
  at timestamptz not null default clock_timestamp(),
  primary key (conversation_id, sha256),
  foreign key (tenant_id, sha256) references media
);
create index media_uses_of_media on media_uses (tenant_id, sha256);
select longshore_keep_apart('media_uses', 'exists (select from conversations c where c.conversation_id = media_uses.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- Bytes of all media that the conversation has been given.
alter table conversations add column media_bytes bigint not null default 0;
-- What a message has besides its text: a list of references.
alter table messages add column attachments json;

-- Down Migration
alter table messages drop column attachments;
alter table conversations drop column media_bytes;
drop table media_uses;
drop table media;
