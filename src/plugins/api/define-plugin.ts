import type { z } from 'zod';
import { nearest } from '../../common/nearest.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import { detailsOf, problemOfDetails, UNVERSIONED, VARIABLE, type PluginDetails } from './plugin-details.ts';
import type { ToolContext, ToolSandbox } from './tool-context.ts';

export type { FileSource, PluginStore, StoreEntry, StoreScope, ToolFiles } from './tool-context.ts';
export type { Dialect, PluginAlert, PluginConversation, PluginDetails, PluginHost } from './plugin-details.ts';
export type { ToolContext, ToolSandbox };

/** What a tool's result means for the conversation. `behavior`: recorded, but does not start a step by itself. Results of the others go back to the model. */
export type ToolKind = 'tool' | 'agent' | 'behavior' | 'multimodal_agent';

/** Hints about what a call does, with MCP's names. They feed the approval policy and the retry policy. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** A tool's answer: text, any JSON value (shown to the model as JSON), or content parts; `isError` tells the model that it failed. */
export type ToolResult = string | Json | { content: ContentPart[]; isError?: boolean };

/** Where a tool's code runs: in the conversation's sandbox (`container`), in an isolated process (`compartment`), or in the worker's process (`host`). */
export type Isolation = FencedIsolation | 'host';
/** The values that a plugin may choose. Only the operator can grant `host`. */
export type FencedIsolation = 'container' | 'compartment';

/** The model sees only the brief of a `deferred` tool until it searches for the tool. It never sees a `hidden` tool, but code in the sandbox may call it. */
export type Visibility = 'visible' | 'deferred' | 'hidden';

/** What a tool may access. Everything else is refused. */
export interface Permissions {
  /** The clock. */
  time?: boolean;
  /** Exact host names; `name:8443` allows only that port. */
  network?: string[];
  /** Names of environment variables. */
  env?: string[];
  /** Absolute directories and files of the host that may be read. */
  fs?: string[];
  random?: boolean;
}

export interface Tool {
  /** Within its plugin: letters, digits, `_`, `-`, `.`. */
  id: string;
  description: string;
  /** JSON Schema of the arguments, an object. */
  parameters: JsonObject;
  kind: ToolKind;
  annotations: ToolAnnotations;
  /** Default 60 000. */
  timeoutMs: number;
  isolation: Isolation;
  permissions: Permissions;
  /** JSON Schema of a result that is text or JSON; undefined accepts any result. */
  resultSchema: JsonObject | undefined;
  visibility: Visibility;
  /** One line that is shown instead of a deferred tool. Default: the first line of the description. */
  brief: string | undefined;
  requireApproval: boolean | undefined;
  /** A line for the Temporal UI, made from the arguments. */
  summarize: ((input: JsonObject) => string) | undefined;
  /** Other data from the plugin. Longshore does not use it. */
  metadata?: JsonObject;
  execute(input: JsonObject, context: ToolContext): Promise<ToolResult>;
}

export interface ToolDefinition<Parameters extends z.ZodType | JsonObject> {
  id: string;
  description: string;
  parameters: Parameters;
  kind?: ToolKind;
  annotations?: ToolAnnotations;
  timeoutMs?: number;
  /** Default `host`, which becomes `compartment` in an isolated process. */
  isolation?: Isolation;
  permissions?: Permissions;
  resultSchema?: z.ZodType | JsonObject;
  /** Default `visible`. */
  visibility?: Visibility;
  brief?: string;
  requireApproval?: boolean;
  summarize?(input: Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject): string;
  execute(input: Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject, context: ToolContext): Promise<ToolResult>;
}

export interface Plugin extends PluginDetails {
  /** Letters, digits, `-`, `_` and `.`, with an optional `@scope/` before them. */
  id: string;
  version: string;
  description: string;
  /** Read again after `load` and `updateConfig`, which may have changed them. */
  tools: Tool[];
}

export interface PluginDefinition extends Partial<PluginDetails> {
  id: string;
  /** Part of the hash that approvals are bound to: change it when the behaviour changes. Default: the version in package.json, else `0.0.0`. */
  version?: string;
  description?: string;
  tools: Tool[];
}

/** Defaults for a tool that was written as a plain object. */
const UNSAID = { permissions: {}, visibility: 'visible', resultSchema: undefined, brief: undefined, requireApproval: undefined, summarize: undefined } as const;
const DEFAULT_TIMEOUT_MS = 60_000;
/** Allows package names (`@scope/name`) and the plugin names of the dialects. Starts with a letter, because model providers require that of tool names. */
export const PLUGIN_ID = /^(@[A-Za-z][\w.-]{0,38}\/)?[A-Za-z][\w.-]{0,39}$/;
export const PLUGIN_ID_IN_WORDS = 'use a letter, then letters, digits, -, _ and ., 40 at most; @scope/ may stand before it';
const TOOL_ID = /^[A-Za-z0-9_.-]{1,80}$/;

/**
 * Makes a tool from its definition. Parameters are a zod object or a JSON Schema of an object; with zod, `execute` gets the parsed input (defaults filled in).
 * @throws PLUGIN_INVALID when the parameters cannot be shown to a model as the JSON Schema of an object.
 */
export function defineTool<Parameters extends z.ZodType | JsonObject>(definition: ToolDefinition<Parameters>): Tool {
  return readable('a tool', 'defineTool({ id, description, parameters, execute })', () => makeTool(definition));
}

function makeTool<Parameters extends z.ZodType | JsonObject>(definition: ToolDefinition<Parameters>): Tool {
  const misspelt = misspeltOf(definition, TOOL_KEYS);
  if (misspelt !== undefined) {
    const problem = `tool ${shownId(definition.id)} has the unknown option ${misspelt.join(', which is probably ')}`;
    throw failure('PLUGIN_INVALID', { plugin: '(unknown)', problem, fix: 'Correct its name' });
  }
  const { parameters } = definition;
  const parse = isZod(parameters) ? (input: JsonObject) => parseInput(definition.id, parameters, input) : (input: JsonObject) => input;
  type Input = Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject;
  return {
    id: definition.id,
    description: definition.description,
    parameters: jsonSchemaOf(definition.id, parameters, 'input'),
    kind: definition.kind ?? 'tool',
    annotations: definition.annotations ?? {},
    timeoutMs: definition.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    isolation: definition.isolation ?? 'host',
    permissions: definition.permissions ?? {},
    resultSchema: definition.resultSchema && jsonSchemaOf(definition.id, definition.resultSchema, 'output'),
    visibility: definition.visibility ?? 'visible',
    brief: definition.brief,
    requireApproval: definition.requireApproval,
    summarize: definition.summarize && ((input) => definition.summarize?.(parse(input) as Input) ?? ''),
    execute: async (input, context) => definition.execute(parse(input) as Input, context),
  };
}

/**
 * Makes a plugin and checks it. The definition may itself be a plugin; the result is then equal to it.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export function definePlugin(definition: PluginDefinition): Plugin {
  return readable('a plugin', 'definePlugin({ id, tools: [defineTool({ … })] })', () => makePlugin(definition));
}

/** The fields of a definition may have any type, and its getters may throw. */
function readable<T>(what: string, example: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (isFailure(error)) throw error;
    const problem = `it cannot be read as the definition of ${what} (${shown(error instanceof Error ? error.message : typeof error)})`;
    throw failure('PLUGIN_INVALID', { plugin: '(unknown)', problem, fix: `Write it as ${example}` }, error);
  }
}

const TOOL_KEYS =
  'id description parameters kind annotations timeoutMs isolation permissions resultSchema visibility brief requireApproval summarize execute metadata'.split(
    ' ',
  );
const PLUGIN_KEYS =
  'id version description tools dialect source brief dependencies environment configSchema requireApproval alerts problem promptText selectTools load unload updateConfig'.split(
    ' ',
  );
/** Shorter names are not compared: a difference of two letters is too large a part of them. */
const SHORTEST_COMPARED = 5;
const LONGEST_COMPARED = 40;

/** An unknown option and the known one that was probably meant, both in quotes. Other unknown options, and all fields of a class, belong to the author. */
function misspeltOf(definition: object, known: string[]): string[] | undefined {
  const prototype: unknown = Object.getPrototypeOf(definition);
  // A plugin from another realm has another `Object.prototype`.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  const given = isPlain
    ? Object.keys(definition).filter((key) => key.length >= SHORTEST_COMPARED && key.length <= LONGEST_COMPARED && !known.includes(key))
    : [];
  for (const key of given.slice(0, LONGEST_COMPARED)) {
    const meant = nearest(key, known, 2);
    if (meant !== undefined) return [JSON.stringify(key), JSON.stringify(meant)];
  }
  return undefined;
}

const SHOWN_CHARACTERS = 200;

/** In quotes; a long id is cut. */
function shownId(id: unknown): string {
  return typeof id === 'string' && id.length > SHOWN_CHARACTERS ? JSON.stringify(shown(id)) : shown(JSON.stringify(id));
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '(none)');
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}… (${text.length} characters)`;
}

function makePlugin(definition: PluginDefinition): Plugin {
  const { id, version = UNVERSIONED, description = '', tools } = definition;
  const invalid = (problem: string, fix: string): Error => failure('PLUGIN_INVALID', { plugin: id === undefined ? '(without id)' : shownId(id), problem, fix });
  if (typeof id !== 'string' || !PLUGIN_ID.test(id)) {
    throw invalid(`the id ${id === undefined ? 'is missing and' : shownId(id)} is not usable`, PLUGIN_ID_IN_WORDS.replace(/^u/, 'U'));
  }
  if (typeof version !== 'string' || typeof description !== 'string') throw invalid('version and description have to be texts', 'Put them in quotes');
  if (!Array.isArray(tools)) throw invalid('"tools" is not a list', 'Give it as tools: [defineTool({ … })]');
  const misspelt = misspeltOf(definition, PLUGIN_KEYS);
  if (misspelt) throw invalid(`it has the unknown option ${misspelt.join(', which is probably ')}`, 'Correct its name');
  const wrong = problemOfTools(tools, definition.dialect);
  if (wrong) throw invalid(...wrong);
  const problem = problemOfDetails(definition);
  if (problem) throw invalid(problem, 'See docs/guides/tools.md for what may stand there');
  return { id, version, description, tools: tools.map((tool) => ({ ...UNSAID, ...tool })), ...detailsOf(definition) };
}

function problemOfTools(tools: Tool[], dialect = 'longshore'): [problem: string, fix: string] | undefined {
  const seen = new Set<string>();
  for (const tool of tools) {
    const problem = problemOfTool(tool);
    if (problem) return [problem, dialect === 'longshore' ? 'Make each tool with defineTool({ id, description, parameters, execute })' : 'Correct that tool'];
    if (seen.has(tool.id)) return [`two tools have the id "${tool.id}"`, 'Rename one'];
    seen.add(tool.id);
  }
  return undefined;
}

function problemOfTool(tool: Partial<Tool> | undefined | null): string | undefined {
  if (typeof tool?.id !== 'string' || !TOOL_ID.test(tool.id)) {
    return `the tool id ${tool?.id === undefined ? '(none)' : shownId(tool.id)} is not usable; letters, digits, _, - and . are, 80 at most`;
  }
  const [problem] = CHECKS.find(([, holds]) => !holds(tool)) ?? [];
  return problem && `tool "${tool.id}" ${problem}`;
}

const KINDS: Record<ToolKind, true> = { tool: true, agent: true, behavior: true, multimodal_agent: true };

/** Each check, with the problem that is reported if it does not hold. */
const CHECKS: [problem: string, holds: (tool: Partial<Tool>) => boolean][] = [
  ['has no description, so a model cannot know when to call it', ({ description }) => typeof description === 'string' && description.trim() !== ''],
  ['has no execute function', ({ execute }) => typeof execute === 'function'],
  ['has parameters that are not the JSON Schema of an object ("type": "object")', ({ parameters }) => parameters?.['type'] === 'object'],
  ['has a timeoutMs that is not a number above 0', ({ timeoutMs }) => typeof timeoutMs === 'number' && timeoutMs > 0],
  ['was not made by defineTool', ({ kind, annotations, isolation }) => Boolean(kind && annotations && isolation)],
  ['has a kind that is none of tool, agent, behavior and multimodal_agent', ({ kind = 'tool' }) => Object.hasOwn(KINDS, kind)],
  ['has a visibility that is none of visible, deferred and hidden', ({ visibility = 'visible' }) => ['visible', 'deferred', 'hidden'].includes(visibility)],
  [
    'has permissions that are not usable; network takes exact host names, env names of variables, fs absolute paths, time and random true or false, and there are no others',
    ({ permissions = {} }) => areUsable(permissions) && areKnown(permissions),
  ],
];

export const HOST = /^(?=.{1,253}(:|$))[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:\d{1,5})?$/i;

function areUsable(permissions: Permissions): boolean {
  if (permissions === null || typeof permissions !== 'object') return false;
  const { network = [], env = [], fs = [], time = false, random = false } = permissions;
  if (typeof time !== 'boolean' || typeof random !== 'boolean') return false;
  const fit = (list: unknown, pattern: RegExp) => Array.isArray(list) && list.every((item) => typeof item === 'string' && pattern.test(item));
  return fit(network, HOST) && fit(env, VARIABLE) && fit(fs, /^\//);
}

/** Otherwise a misspelt permission would be ignored without notice. */
function areKnown(permissions: Permissions): boolean {
  return Object.keys(permissions).every((name) => ['network', 'env', 'fs', 'time', 'random'].includes(name));
}

function jsonSchemaOf(toolId: string, type: z.ZodType | JsonObject, io: 'input' | 'output'): JsonObject {
  if (!isZod(type)) return type;
  try {
    const schema = type.toJSONSchema({ io }) as JsonObject;
    // Zod writes 2020-12, which is the default; the line does not help a model.
    delete schema['$schema'];
    return schema;
  } catch (error) {
    const what = io === 'input' ? 'parameters' : 'result';
    const problem = `its zod ${what} ${io === 'input' ? 'have' : 'has'} no JSON Schema (${(error as Error).message})`;
    throw failure('PLUGIN_INVALID', { plugin: `of tool "${toolId}"`, problem, fix: 'Use types that JSON knows; dates as z.iso.datetime()' }, error);
  }
}

/** Recognises zod without importing it: a plugin without zod is then bundled without it, which saves most of the load time of a small one. */
function isZod(type: z.ZodType | JsonObject | undefined): type is z.ZodType {
  return typeof type === 'object' && type !== null && '_zod' in type;
}

/** The input already fits the JSON Schema. This fills in defaults and applies refinements, which a JSON Schema cannot express. */
function parseInput(toolId: string, parameters: z.ZodType, input: JsonObject): unknown {
  const parsed = parameters.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`).join('; ');
  throw failure('TOOL_ARGUMENTS_INVALID', { tool: toolId, problems });
}
