import type { PermissionBound } from '../contracts/agent.ts';
import type { AuditAction, AuditSource } from '../contracts/audit.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { Announcer } from './database/announcer.ts';
import type { Database } from './database/database.ts';
import { toJsonText } from './database/json-text.ts';
import { followTopic } from './database/follow-topic.ts';
import type { Listener } from './database/listener.ts';
import { addGrants, removeGrants } from './change-grants.ts';
import { fromGrantRows, type GrantRow } from './plugin-grants.ts';
import type { KeptPluginReport, PluginReport, PluginSettings } from './plugin-rows.ts';
import { insertAudit } from './service/audit-sql.ts';
import { sourceText } from './service/audit.ts';
import type { Store } from './store.ts';

/** Announced in the same way as a conversation's events; no conversation has such an id. */
const TOPIC = ':plugins';
/** How long a worker waits when an announcement is lost. */
const POLL_MS = 5_000;

const SETTINGS =
  'plugin_id as "pluginId", enabled, config, config_version as "configVersion", config_problem as "configProblem", reloads, updated_at as "updatedAt", ' +
  "(select json_agg(json_build_object('permission', permission, 'value', value) order by permission, value) from plugin_grants g where g.plugin_id = plugin_settings.plugin_id) as grants";

/** A change of settings with its row in the audit log. */
const audited = (change: string, action: AuditAction, source: string) =>
  `with changed as (${change}), noted as (${insertAudit({ from: 'changed', action, target: '"pluginId"', details: `json_build_object('configVersion', "configVersion")`, source })}) select * from changed`;

const SET_ENABLED = `insert into plugin_settings (plugin_id, enabled) values ($1, $2)
  on conflict (plugin_id) do update set enabled = excluded.enabled, updated_at = clock_timestamp() returning ${SETTINGS}`;
const ENABLE = audited(SET_ENABLED, 'plugin.enable', '$3');
const DISABLE = audited(SET_ENABLED, 'plugin.disable', '$3');

/** With a version, only if it is the current one; a plugin without a row has version 0. */
const CONFIGURE = audited(
  `insert into plugin_settings (plugin_id, config, config_version) select $1, $2, 1 where coalesce($3::integer, 0) = 0 or exists (select 1 from plugin_settings where plugin_id = $1)
  on conflict (plugin_id) do update set config = excluded.config, config_version = plugin_settings.config_version + 1, former_config = plugin_settings.config,
    config_problem = null, updated_at = clock_timestamp()
  where $3::integer is null or plugin_settings.config_version = $3 returning ${SETTINGS}`,
  'plugin.configure',
  '$4',
);

const TAKE_BACK = `update plugin_settings set config = former_config, config_version = config_version + 1, config_problem = $3, updated_at = clock_timestamp()
  where plugin_id = $1 and config_version = $2 and config_problem is null returning 1`;

const RELOAD = audited(
  `insert into plugin_settings (plugin_id, reloads) values ($1, 1)
  on conflict (plugin_id) do update set reloads = plugin_settings.reloads + 1, updated_at = clock_timestamp() returning ${SETTINGS}`,
  'plugin.reload',
  '$2',
);

const REPORT = `insert into plugin_reports (host_id, name, plugin_id, health, report) values ($1, $2, $3, $4, $5)
  on conflict (host_id, name) do update set plugin_id = excluded.plugin_id, health = excluded.health, report = excluded.report, reported_at = clock_timestamp()`;

/** `reported_at` is the time of the last report; the report itself contains the time since which it holds. */
const STILL_HERE = 'update plugin_reports set reported_at = clock_timestamp() where host_id = $1';

const REPORTS = `select *, extract(epoch from clock_timestamp() - reported_at)::float8 * 1000 as "silentMs" from plugin_reports order by plugin_id, name, host_id`;

const FORGET = `delete from plugin_reports where (host_id = $1 and not name = any($2::text[])) or reported_at < clock_timestamp() - interval '7 days'`;

/** Workers report far more often. */
const AWAY_MS = 3 * 60_000;

interface SettingsRow extends Omit<PluginSettings, 'updatedAt' | 'configProblem' | 'granted'> {
  configProblem: string | null;
  grants: GrantRow[] | null;
  updatedAt: Date;
}

export function createPluginStates({ database, announcer, listener }: { database: Database; announcer: Announcer; listener: Listener }): Store['plugins'] {
  const settings = async () =>
    (await database.query<SettingsRow>('plugins.settings', `select ${SETTINGS} from plugin_settings order by plugin_id`, [])).map(toSettings);
  const change = async (name: string, sql: string, values: Parameters<Database['query']>[2]) => {
    const [row] = await database.query<SettingsRow>(name, sql, values);
    if (row) announcer.announce(TOPIC);
    return row && toSettings(row);
  };
  const changed = (row: PluginSettings | undefined): PluginSettings => {
    if (!row) throw new Error('the settings of a plugin were not written');
    return row;
  };
  const regrant = async (change: typeof addGrants, pluginId: string, permissions: PermissionBound, by: AuditSource) => {
    await change(database, pluginId, permissions, by);
    announcer.announce(TOPIC);
    return changed((await settings()).find((row) => row.pluginId === pluginId));
  };
  return {
    settings,
    enable: async (pluginId, enabled, by) =>
      changed(await change(enabled ? 'plugins.enable' : 'plugins.disable', enabled ? ENABLE : DISABLE, [pluginId, enabled, sourceText(by)])),
    configure: (pluginId, config, by, ifVersion) => change('plugins.configure', CONFIGURE, [pluginId, toJsonText(config), ifVersion ?? null, sourceText(by)]),
    async takeBackConfig(pluginId, version, problem) {
      const taken = await database.query('plugins.takeBack', TAKE_BACK, [pluginId, version, problem]);
      if (taken.length > 0) announcer.announce(TOPIC);
    },
    reload: async (pluginId, by) => changed(await change('plugins.reload', RELOAD, [pluginId, sourceText(by)])),
    grant: (pluginId, permissions, by) => regrant(addGrants, pluginId, permissions, by),
    revoke: (pluginId, permissions, by) => regrant(removeGrants, pluginId, permissions, by),
    async report(hostId, { name, pluginId, health, ...report }) {
      await database.query('plugins.report', REPORT, [hostId, name, pluginId ?? null, health, toJsonText({ ...report, since: new Date().toISOString() })]);
    },
    async stillHere(hostId) {
      await database.query('plugins.stillHere', STILL_HERE, [hostId]);
    },
    async forget(hostId, names) {
      await database.query('plugins.forget', FORGET, [hostId, names]);
    },
    async reports() {
      const rows = await database.query<ReportRow>('plugins.reports', REPORTS, []);
      return rows.map(toReport);
    },
    follow: (signal) => followTopic(listener, TOPIC, { pollMs: POLL_MS, signal }),
  };
}

interface ReportRow {
  host_id: string;
  name: string;
  plugin_id: string | null;
  health: PluginReport['health'];
  report: JsonObject;
  reported_at: Date;
  silentMs: number;
}

function toSettings({ updatedAt, configProblem, grants, ...row }: SettingsRow): PluginSettings {
  return { ...row, ...(configProblem !== null && { configProblem }), granted: fromGrantRows(grants ?? []), updatedAt: updatedAt.toISOString() };
}

function toReport(row: ReportRow): KeptPluginReport {
  const { name, health } = row;
  const { since, ...report } = row.report as unknown as Omit<PluginReport, 'name' | 'health' | 'pluginId'> & { since?: string };
  return {
    ...report,
    hostId: row.host_id,
    name,
    health,
    ...(row.plugin_id !== null && { pluginId: row.plugin_id }),
    at: since ?? row.reported_at.toISOString(),
    ...(row.silentMs > AWAY_MS && { away: true }),
  };
}
