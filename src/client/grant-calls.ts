import type { PermissionBound } from '../contracts/agent.ts';
import type { AuditSource } from '../contracts/audit.ts';
import { failure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import { isOwnVariable } from '../platform/own-variables.ts';
import { fromGrantRows, grantKeyOf, toGrantRows } from '../store/plugin-grants.ts';
import type { Store } from '../store/store.ts';
import { grantsOf } from './client-arguments.ts';
import type { PluginState, Plugins } from './types/installation-types.ts';

/** Grants permissions to plugins and revokes them. Workers apply the changes. */
export function createGrantCalls(store: Pick<Store, 'plugins'>, get: Plugins['get'], by: AuditSource): Pick<Plugins, 'grant' | 'revoke'> {
  return {
    async grant(id, given) {
      const wanted = given === 'asked' ? undefined : named(given);
      const state = await get(id);
      refuseServer(state);
      const permissions = wanted ?? askedBy(state);
      refuseOwnVariables(permissions);
      await store.plugins.grant(state.id, permissions, by);
      return permissions;
    },
    async revoke(id, given) {
      const wanted = given === undefined ? undefined : named(given);
      const state = await get(id);
      const granted = toGrantRows(state.granted);
      const permissions = wanted ?? state.granted;
      const held = new Set(granted.map(grantKeyOf));
      const missing = toGrantRows(permissions).filter((row) => !held.has(grantKeyOf(row)));
      if (missing.length > 0 || granted.length === 0) throw notGranted(state, missing.length > 0 ? fromGrantRows(missing) : undefined);
      await store.plugins.revoke(state.id, permissions, by);
      return permissions;
    },
  };
}

function named(given: unknown): PermissionBound {
  const permissions = fromGrantRows(toGrantRows(grantsOf(given)));
  if (Object.keys(permissions).length > 0) return permissions;
  throw failure('INVALID_ARGUMENT', { what: 'permissions', problem: 'none is named', fix: 'Name at least one host, variable or path' });
}

/** The permissions that the workers report for the plugin. Reports of absent workers count only when no worker is present. */
function askedBy({ id, reports }: PluginState): PermissionBound {
  const present = reports.filter(({ away }) => !away);
  const said = (present.length > 0 ? present : reports).flatMap(({ permissions, ungranted = {} }) => [permissions, ungranted]);
  const asked = fromGrantRows(said.flatMap((permissions: JsonObject) => toGrantRows(permissions as PermissionBound)));
  if (Object.keys(asked).length > 0) return asked;
  throw failure('INVALID_ARGUMENT', { what: `plugin "${id}"`, problem: 'it asks for no permission', fix: `See what it is: longshore plugins show ${id}` });
}

/** A grant of them would have no effect: a plugin that asks for them is refused. */
function refuseOwnVariables({ env = [] }: PermissionBound): void {
  const own = env.filter(isOwnVariable);
  if (own.length === 0) return;
  const problem = `${own.join(' and ')} ${own.length === 1 ? 'belongs' : 'belong'} to Longshore itself, and no plugin may have such variables`;
  throw failure('INVALID_ARGUMENT', { what: 'permissions.env', problem, fix: 'Use a variable with another name, and set that for the worker' });
}

function refuseServer({ id, reports }: PluginState): void {
  if (reports.length === 0 || reports.some(({ dialect }) => dialect !== 'mcp')) return;
  const problem = "it is an MCP server, and MCP servers have no permissions; their entry in the agent's file says what they get";
  throw failure('INVALID_ARGUMENT', { what: `plugin "${id}"`, problem, fix: 'Change its entry of "mcp" in the agent\'s file' });
}

function notGranted({ id, granted }: PluginState, missing: PermissionBound | undefined): Error {
  const held = Object.keys(granted).length === 0 ? 'nothing was granted to it here' : `it was granted ${JSON.stringify(granted)}`;
  const problem = missing ? `${JSON.stringify(missing)} was not granted to it (${held})` : held;
  const fix = "A permission that an agent's file grants has to be removed in that file; see: longshore plugins show " + id;
  return failure('INVALID_ARGUMENT', { what: `plugin "${id}"`, problem, fix });
}
