-- Up Migration
-- Skills as conversations were given them, by the hash of their files. They are of the installation: operators name them in the files of agents.
create table skills (
  digest text primary key,
  name text not null,
  description text not null,
  -- What stands in SKILL.md after its header.
  body text not null,
  -- A conversation began with it, or a worker knew it, then.
  used_at timestamptz not null default clock_timestamp()
);
create table skill_files (
  digest text not null references skills on delete cascade,
  path text not null,
  executable boolean not null,
  content bytea not null,
  primary key (digest, path)
);
-- The skills of a conversation, all of them in one row, so that one worker decides which they are.
create table conversation_skills (
  conversation_id text primary key references conversations on delete cascade,
  skills json not null
);
select longshore_keep_apart('conversation_skills', 'exists (select from conversations c where c.conversation_id = conversation_skills.conversation_id)',
  'longshore_has_conversation(conversation_id)');

-- Down Migration
drop table conversation_skills;
drop table skill_files;
drop table skills;
