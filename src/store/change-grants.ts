import type { PermissionBound } from '../contracts/agent.ts';
import type { Database } from './database/database.ts';
import { toGrantRows } from './plugin-grants.ts';

/** Grants are read together with the plugin's settings row, which may not exist yet. */
const ADD = 'insert into plugin_settings (plugin_id) values ($1) on conflict do nothing';

const GRANT = `insert into plugin_grants (plugin_id, permission, value)
  select $1, permission, value from unnest($2::text[], $3::text[]) with ordinality as given (permission, value, place) order by place on conflict do nothing`;

const REVOKE = `delete from plugin_grants where plugin_id = $1 and (permission, value) in (select * from unnest($2::text[], $3::text[]))`;

export function addGrants(database: Database, pluginId: string, permissions: PermissionBound): Promise<void> {
  return change(database, pluginId, permissions, ['plugins.grant', GRANT]);
}

export function removeGrants(database: Database, pluginId: string, permissions: PermissionBound): Promise<void> {
  return change(database, pluginId, permissions, ['plugins.revoke', REVOKE]);
}

async function change(database: Database, pluginId: string, permissions: PermissionBound, [name, sql]: [string, string]): Promise<void> {
  const rows = toGrantRows(permissions);
  await database.query('plugins.add', ADD, [pluginId]);
  await database.query(name, sql, [pluginId, rows.map(({ permission }) => permission), rows.map(({ value }) => value)]);
}
