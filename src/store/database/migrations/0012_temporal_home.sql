-- Up Migration
-- Which Temporal namespace has the workflows of the conversations that are in here: one row, made by whoever connects first.
create table temporal_home (
  one boolean primary key default true check (one),
  namespace text not null,
  -- The server's own id of it, which differs where another server has a namespace of the same name. Absent where a server does not tell.
  namespace_id text
);

-- Down Migration
drop table temporal_home;
