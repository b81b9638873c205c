import type { PluginAlert, PluginDetails, Variable } from './plugin.ts';

/** The dialect of plugins that name none. */
export const NATIVE_DIALECT = 'longshore';

/** Version of a plugin that does not give one. */
export const UNVERSIONED = '0.0.0';
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HOOKS = ['promptText', 'selectTools', 'load', 'unload', 'updateConfig'] as const;

/** The details with their defaults. Hooks, `source`, `brief` and `dependencies` have none and are left out if they are not given. */
export function detailsOf(given: Partial<PluginDetails>): PluginDetails {
  const { dialect = NATIVE_DIALECT, environment = [], configSchema, requireApproval, alerts = [], source, brief, dependencies } = given;
  const named = { ...(source !== undefined && { source }), ...(brief !== undefined && { brief }), ...(dependencies !== undefined && { dependencies }) };
  // Bound, so that the hooks of a class's instance keep their `this`.
  const hooks = Object.fromEntries(HOOKS.flatMap((name) => (given[name] ? [[name, given[name].bind(given)]] : [])));
  return { dialect, environment, configSchema, requireApproval, alerts, ...named, ...hooks };
}

const MAX_ALERTS = 50;
const MAX_ALERT_LENGTH = 1_000;

function cutAlert(text: string): string {
  return text.length <= MAX_ALERT_LENGTH ? text : `${text.slice(0, MAX_ALERT_LENGTH)} …cut, ${text.length - MAX_ALERT_LENGTH} more characters`;
}

/** Reads the alerts that code of a plugin gives and dates them now. Invalid entries are skipped. */
export function alertsOf(given: unknown): PluginAlert[] {
  if (!Array.isArray(given)) return [];
  const at = new Date().toISOString();
  const left = given.length - MAX_ALERTS;
  const told = given.slice(0, MAX_ALERTS).flatMap((alert: { level?: unknown; text?: unknown } | null): PluginAlert[] => {
    if (typeof alert?.text !== 'string') return [];
    const level = alert.level === 'error' || alert.level === 'warning' ? alert.level : 'info';
    return [{ level, text: cutAlert(alert.text), at }];
  });
  return left > 0 ? [...told, { level: 'warning', text: `${left} more alerts are left out: at most ${MAX_ALERTS} are kept`, at }] : told;
}

/** The first problem of the details of a definition; undefined if they are valid. */
export function problemOfDetails(given: Partial<PluginDetails>): string | undefined {
  const { environment = [], configSchema, dependencies = [] } = given;
  if (!Array.isArray(environment) || !environment.every(isVariable)) {
    return '"environment" is not a list of { name, required }';
  }
  if (configSchema !== undefined && configSchema['type'] !== 'object') return '"configSchema" is not the JSON Schema of an object ("type": "object")';
  if (!Array.isArray(dependencies) || !dependencies.every((id) => typeof id === 'string')) return '"dependencies" is not a list of plugin ids';
  return problemOfTypes(given);
}

function problemOfTypes({ brief = '', requireApproval, ...given }: Partial<PluginDetails>): string | undefined {
  if (typeof brief !== 'string') return '"brief" is not a text';
  if (typeof (requireApproval ?? false) !== 'boolean') return '"requireApproval" is neither true nor false';
  const hook = HOOKS.find((name) => given[name] !== undefined && typeof given[name] !== 'function');
  return hook && `"${hook}" is not a function`;
}

/** Without a look at the type, the pattern would also accept a list with one name. */
function isVariable(variable: Variable | null): boolean {
  return typeof variable?.name === 'string' && VARIABLE.test(variable.name) && typeof variable.required === 'boolean';
}
