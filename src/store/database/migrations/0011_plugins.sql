-- Up Migration
-- What operators want of a plugin. A row is made with the first wish; without one a plugin is enabled and has no configuration.
create table plugin_settings (
  plugin_id text primary key,
  enabled boolean not null default true,
  config json not null default '{}',
  config_version integer not null default 0,
  -- Taken back to when a worker cannot work with the new one.
  former_config json not null default '{}',
  -- Why the newest change of the configuration was taken back.
  config_problem text,
  -- Grows with each wish to load the plugin again.
  reloads integer not null default 0,
  updated_at timestamptz not null default clock_timestamp()
);
-- What the workers of a host say of the plugins that their agents name.
create table plugin_reports (
  host_id text not null,
  name text not null,
  plugin_id text,
  health text not null check (health in ('loaded', 'disabled', 'failed')),
  report json not null,
  reported_at timestamptz not null default clock_timestamp(),
  primary key (host_id, name)
);
create index plugin_reports_of_plugin on plugin_reports (plugin_id);

-- Down Migration
drop table plugin_reports;
drop table plugin_settings;
