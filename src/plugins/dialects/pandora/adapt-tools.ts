import type { Json, JsonObject } from '../../../contracts/json.ts';
import type { PluginHost } from '../../api/plugin.ts';
import type { ToolContext } from '../../api/tool-context.ts';
import type { ResolveToolsContext, Tool, ToolExecuteContext } from './sdk.ts';

/** A module that the manifest names as an entry. */
export interface EntryModule {
  /** Its index in the manifest's list. */
  entry: number;
  /** Its path in the manifest. */
  path: string;
  /** The permissions of its tools. */
  permissions: { env?: string[] };
  exports: Record<string, unknown>;
}

export interface AdaptedAlert {
  level: string;
  text: string;
}

/** The tools of entries in the canonical form, without the fields that the manifest sets. */
export interface AdaptedEntries {
  dialect: 'pandora';
  tools: JsonObject[];
  alerts: AdaptedAlert[];
  /** Only where an entry resolves tools. Resolves them again and returns them together with the static ones. When it throws, the former tools stay. */
  load?: (host: Pick<PluginHost, 'env' | 'config'>) => Promise<Pick<AdaptedEntries, 'tools' | 'alerts'>>;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * Runs together with the plugin's code, in its compartment or in the worker, so it uses nothing but the language.
 * @throws an Error that names the tool and what is wrong with it.
 */
export function adaptEntries(modules: EntryModule[]): AdaptedEntries {
  const given = modules.map((module) => adaptList(module, module.exports['tools'] ?? []));
  const fixed = joined(given);
  const dynamic = modules.filter(({ exports }) => typeof exports['resolveTools'] === 'function');
  if (dynamic.length === 0) return fixed;
  const adapted: AdaptedEntries = {
    ...fixed,
    alerts: [...fixed.alerts, ...dynamic.map(toCome)],
    async load({ env, config }) {
      const resolved = await Promise.all(
        dynamic.map((module) => resolveEntry(module, { pluginConfig: { enabled: true, ...config }, env: pick(env, module.permissions.env) })),
      );
      const all = joined([fixed, ...resolved]);
      adapted.tools = all.tools;
      return all;
    },
  };
  return adapted;
}

/** An alert for a plugin that has not been loaded yet: it may get more tools. */
function toCome({ path, permissions }: EntryModule): AdaptedAlert {
  return { level: 'info', text: `${path} resolves more tools when the plugin is loaded; they are granted ${JSON.stringify(permissions)}.` };
}

async function resolveEntry(module: EntryModule, context: ResolveToolsContext): Promise<AdaptedEntries> {
  const resolve = module.exports['resolveTools'] as (context: ResolveToolsContext) => unknown;
  const result = (await resolve(context)) as { tools?: unknown; alerts?: unknown } | null | undefined;
  if (!Array.isArray(result?.tools)) throw new Error('resolveTools gave no object with a list of tools');
  const { tools, alerts } = adaptList(module, result.tools);
  return { dialect: 'pandora', tools, alerts: [...alerts, ...alertsOf(result.alerts)] };
}

function joined(parts: AdaptedEntries[]): AdaptedEntries {
  return { dialect: 'pandora', tools: parts.flatMap(({ tools }) => tools), alerts: parts.flatMap(({ alerts }) => alerts) };
}

function alertsOf(given: unknown): AdaptedAlert[] {
  if (!Array.isArray(given)) return [];
  return given.map((alert: { level?: unknown; message?: unknown } | null) => ({ level: String(alert?.level), text: String(alert?.message) }));
}

function adaptList(module: EntryModule, given: unknown): AdaptedEntries {
  if (!Array.isArray(given)) throw new Error('its export "tools" is not a list');
  // A list of the plugin may have a `map` of its own, which could return tools of another entry.
  const tools = Array.from(given as (Tool | null)[]);
  const alerts = tools
    .filter((tool) => tool?.sandbox !== undefined || tool?.permissions !== undefined)
    .map((tool) => ({
      level: 'warning',
      text: `Tool "${tool?.id}" declares a sandbox or permissions of its own; they are ignored, and the manifest is used.`,
    }));
  return { dialect: 'pandora', tools: tools.map((tool, index) => adaptTool(module, tool ?? {}, index)), alerts };
}

function adaptTool({ entry, permissions: { env } }: EntryModule, tool: Partial<Tool>, index: number): JsonObject {
  const problem = problemOf(tool);
  if (problem) throw new Error(`${typeof tool.id === 'string' && tool.id !== '' ? `tool "${tool.id}"` : `tool ${index + 1}`} ${problem}`);
  const { annotations, execute } = tool;
  const adapted = {
    entry,
    id: tool.id,
    description: tool.description,
    parameters: { type: 'object', ...tool.parameters },
    kind: 'tool',
    annotations: { title: tool.name, ...annotations },
    timeoutMs: tool.timeout ?? DEFAULT_TIMEOUT_MS,
    isolation: 'compartment',
    // A tool without parameters receives no input, whatever the model sends.
    execute: async (input: JsonObject, context: ToolContext) =>
      ((await execute?.call(tool, tool.parameters ? input : {}, contextOf(context, env))) ?? null) as Json,
  };
  return adapted as unknown as JsonObject;
}

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
const isHint = (value: unknown): boolean => value === undefined || typeof value === 'boolean';

/** The problem that is reported when the check fails for a tool. */
const CHECKS: [problem: string, holds: (tool: Partial<Tool>) => boolean][] = [
  ['has no id, or one with a colon', ({ id }) => isText(id) && id?.includes(':') === false],
  ['has no name', ({ name }) => isText(name)],
  ['has no description', ({ description }) => isText(description)],
  ['has no execute function', ({ execute }) => typeof execute === 'function'],
  ['does not say in annotations.readOnlyHint whether it only reads', ({ annotations }) => typeof annotations?.readOnlyHint === 'boolean'],
  [
    'has an annotation that is neither true nor false',
    ({ annotations }) =>
      isHint(annotations?.destructiveHint) && isHint(annotations?.idempotentHint) && ['undefined', 'string'].includes(typeof annotations?.title),
  ],
  ['has a timeout that is not a number of milliseconds above 0', ({ timeout = 1 }) => typeof timeout === 'number' && timeout > 0],
  [
    'has parameters that are no JSON Schema of an object',
    ({ parameters = {} }) => parameters !== null && typeof parameters === 'object' && (parameters['type'] ?? 'object') === 'object',
  ],
];

function problemOf(tool: Partial<Tool>): string | undefined {
  return CHECKS.find(([, holds]) => !holds(tool))?.[0];
}

function contextOf({ env, logger, signal }: ToolContext, names: string[] | undefined): ToolExecuteContext {
  const lineOf = (values: unknown[]) => values.map(textOf).join(' ');
  const say = (...values: unknown[]) => logger.info(lineOf(values));
  const complain = (...values: unknown[]) => logger.warn(lineOf(values));
  return { env: pick(env, names), logger: { log: say, debug: say, info: say, warn: complain, error: complain }, signal };
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return value.message;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return withoutJson(value);
  }
}

/** A value that contains itself, a BigInt, or one with code of its own that fails: a log must not fail the call. */
function withoutJson(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'something that has no text';
  }
}

export function pick(env: Readonly<Record<string, string>>, names: string[] = []): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)));
}
