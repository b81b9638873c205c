import { isAbsolute, resolve } from 'node:path';
import type { z } from 'zod';
import type { Agent, McpServer, PluginPin } from '../contracts/agent.ts';
import { failure } from '../contracts/errors.ts';
import { agentSchema } from './agent-schema.ts';
import { nearest } from './nearest.ts';

/** Where a definition comes from, for its relative paths and for errors. */
export interface AgentSource {
  /** Name of the file in errors. */
  file: string;
  /** Relative plugins and scripts are looked for here. */
  directory: string;
  /** The value as written, before the environment was filled in; errors show this one, so that no secret gets into them. */
  written: unknown;
  /** Adds the line to `file` where it is known. */
  locate(path: PropertyKey[]): string;
}

const SCRIPTED = 'scripted/';

/**
 * Checks a definition and fills in the defaults.
 * @throws AGENT_INVALID naming file, path, value and fix.
 */
export function parseAgent(definition: unknown, source: AgentSource): Agent {
  const parsed = agentSchema.safeParse(definition);
  if (!parsed.success) throw invalid(parsed.error, source);
  const { sandbox, budget, approvalTimeout, approval, model, plugins, mcp, ...rest } = parsed.data;
  const { idle, ...limits } = sandbox;
  const { wallTime, ...counts } = budget;
  return {
    ...rest,
    model: model.startsWith(SCRIPTED) ? SCRIPTED + resolve(source.directory, model.slice(SCRIPTED.length)) : model,
    ...pluginsOf(plugins, source.directory),
    ...(mcp && { mcp: Object.fromEntries(Object.entries(mcp).map(([name, server]) => [name, serverOf(server, source)])) }),
    sandbox: { ...withoutUndefined(limits), freezeAfterMs: idle.freeze, hibernateAfterMs: idle.hibernate, stopAfterMs: idle.stop },
    approval: approval.map(withoutUndefined),
    ...expiryOf(approvalTimeout),
    budget: { ...counts, wallTimeMs: wallTime },
  };
}

function pluginsOf(entries: z.output<typeof agentSchema>['plugins'], directory: string): Pick<Agent, 'plugins' | 'pluginPins'> {
  const located = (name: string) => (name.startsWith('.') || isAbsolute(name) ? resolve(directory, name) : name);
  const named = entries.map((entry) => {
    if (typeof entry === 'string') return { name: located(entry), pin: {} };
    if ('path' in entry) return { name: resolve(directory, entry.path), pin: withoutUndefined({ digest: entry.digest }) };
    return { name: entry.package, pin: withoutUndefined({ version: entry.version, digest: entry.digest }) };
  });
  const pins = named.filter(({ pin }) => Object.keys(pin).length > 0).map(({ name, pin }) => [name, pin]);
  return { plugins: named.map(({ name }) => name), ...(pins.length > 0 && { pluginPins: Object.fromEntries(pins) as Record<string, PluginPin> }) };
}

function serverOf({ timeout: timeoutMs, ...server }: Server, { directory: base }: AgentSource): McpServer {
  if ('url' in server) return { ...server, timeoutMs };
  const { directory, ...program } = server;
  return { ...program, timeoutMs, ...(directory !== undefined && { directory: resolve(base, directory) }) };
}

type Server = NonNullable<z.output<typeof agentSchema>['mcp']>[string];

function expiryOf(timeout: z.output<typeof agentSchema>['approvalTimeout']): Pick<Agent, 'approvalTimeoutMs' | 'approvalExpiry'> {
  return typeof timeout === 'number'
    ? { approvalTimeoutMs: timeout, approvalExpiry: 'deny' }
    : { approvalTimeoutMs: timeout.after, approvalExpiry: timeout.then };
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Defined<T>;
}

function invalid(error: z.ZodError, source: AgentSource): Error {
  const [issue] = error.issues;
  if (!issue) return error;
  if (issue.code === 'unrecognized_keys') return unknownKey(issue, source);
  const at = { file: source.locate(issue.path), path: pathText(issue.path) };
  const written = valueAt(source.written, issue.path);
  const problem = written === undefined ? 'is missing' : `${shorten(written)} is not usable`;
  return failure('AGENT_INVALID', { ...at, problem, fix: `"${String(issue.path.at(-1) ?? 'agent')}": ${issue.message}` });
}

function unknownKey(issue: Extract<z.core.$ZodIssue, { code: 'unrecognized_keys' }>, source: AgentSource): Error {
  const key = issue.keys[0] ?? '';
  const path = [...issue.path, key];
  const known = knownKeys(issue.path);
  const guess = nearest(key, known);
  const fix = `${guess === undefined ? '' : `Did you mean "${guess}"? `}Known here: ${known.join(', ')}`;
  return failure('AGENT_INVALID', { file: source.locate(path), path: pathText(path), problem: 'this key is not known', fix });
}

/** Keys that the schema knows at a path; zod's issue names only those it does not know. */
function knownKeys(path: PropertyKey[]): string[] {
  let at: unknown = agentSchema;
  for (const part of path) {
    const type = unwrap(at);
    at = typeof part === 'number' ? (type as { element?: unknown }).element : shapeOf(type)[String(part)];
  }
  return Object.keys(shapeOf(unwrap(at)));
}

function shapeOf(type: unknown): Record<string, unknown> {
  return (type as { shape?: Record<string, unknown> } | undefined)?.shape ?? {};
}

/** Takes off defaults and the like. */
function unwrap(type: unknown): unknown {
  const inner = (type as { def?: { innerType?: unknown } } | undefined)?.def?.innerType;
  return inner === undefined ? type : unwrap(inner);
}

function pathText(path: PropertyKey[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text.replace(/^\./, '') || '(the whole file)';
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>((at, part) => (at !== null && typeof at === 'object' ? (at as Record<PropertyKey, unknown>)[part] : undefined), value);
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 100 ? text : `${text.slice(0, 100)}…`;
}
