-- Up Migration
-- What operators granted to plugins. A row for each value, so that two grants at once are both kept.
create table plugin_grants (
  plugin_id text not null,
  permission text not null check (permission in ('network', 'env', 'fs', 'time', 'random')),
  -- A host, the name of a variable or a path; empty for time and random.
  value text not null,
  granted_at timestamptz not null default clock_timestamp(),
  primary key (plugin_id, permission, value)
);

-- Down Migration
drop table plugin_grants;
