import type { PermissionBound } from '../contracts/agent.ts';
import type { AuditSource } from '../contracts/audit.ts';
import type { Database } from './database/database.ts';
import { toGrantRows } from './plugin-grants.ts';
import { insertAudit } from './service/audit-sql.ts';
import { sourceText } from './service/audit.ts';

/** Grants are read together with the plugin's settings row, which may not exist yet. */
const ADD = 'insert into plugin_settings (plugin_id) values ($1) on conflict do nothing';

/** One row for the whole change, with the values that it changed; none when it changed nothing. */
const NOTE = {
  from: '(select json_agg(json_build_array(permission, value) order by permission, value) as permissions from changed having count(*) > 0) as all_changed',
  target: '$1',
  details: "json_build_object('permissions', permissions)",
  source: '$4',
} as const;

const GRANT = `with changed as (
    insert into plugin_grants (plugin_id, permission, value)
    select $1, permission, value from unnest($2::text[], $3::text[]) with ordinality as given (permission, value, place) order by place
    on conflict do nothing returning permission, value
  ) ${insertAudit({ ...NOTE, action: 'plugin.grant' })}`;

const REVOKE = `with changed as (
    delete from plugin_grants where plugin_id = $1 and (permission, value) in (select * from unnest($2::text[], $3::text[])) returning permission, value
  ) ${insertAudit({ ...NOTE, action: 'plugin.revoke' })}`;

export function addGrants(database: Database, pluginId: string, permissions: PermissionBound, by: AuditSource): Promise<void> {
  return change(database, pluginId, permissions, ['plugins.grant', GRANT, by]);
}

export function removeGrants(database: Database, pluginId: string, permissions: PermissionBound, by: AuditSource): Promise<void> {
  return change(database, pluginId, permissions, ['plugins.revoke', REVOKE, by]);
}

async function change(database: Database, pluginId: string, permissions: PermissionBound, [name, sql, by]: [string, string, AuditSource]): Promise<void> {
  const rows = toGrantRows(permissions);
  await database.query('plugins.add', ADD, [pluginId]);
  await database.query(name, sql, [pluginId, rows.map(({ permission }) => permission), rows.map(({ value }) => value), sourceText(by)]);
}
