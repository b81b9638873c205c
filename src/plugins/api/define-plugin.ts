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

/** What a tool's result means for the conversation. `behavior`: noted, sets off no new step by itself; the others go back to the model. */
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

/** Where a tool's code runs: in the conversation's sandbox, in a fenced process, or in the worker's own. */
export type Isolation = FencedIsolation | 'host';
/** What a plugin may choose between; the third is the operator's to give. */
export type FencedIsolation = 'container' | 'compartment';

/** `deferred` tools are shown by their brief until the model asks for them; `hidden` ones never to a model, but code in the sandbox may call them. */
export type Visibility = 'visible' | 'deferred' | 'hidden';

/** What a tool may reach; what is not named is refused. */
export interface Permissions {
  /** The clock. */
  time?: boolean;
  /** Exact host names; `name:8443` is that port alone. */
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
  /** JSON Schema that a result has to fit, when it is a JSON value; undefined takes any. */
  resultSchema: JsonObject | undefined;
  visibility: Visibility;
  /** One line that stands for a deferred tool; the first line of the description where there is none. */
  brief: string | undefined;
  requireApproval: boolean | undefined;
  /** A line for the Temporal UI, made from the arguments. */
  summarize: ((input: JsonObject) => string) | undefined;
  /** What a plugin says of it besides; nothing here depends on it. */
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
  /** Default `host`. */
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
  /** Part of the hash that approvals are bound to; change it with the behaviour. Default that of its package.json, else `0.0.0`. */
  version?: string;
  description?: string;
  tools: Tool[];
}

/** What a tool that was written as a plain object may leave out. */
const UNSAID = { permissions: {}, visibility: 'visible', resultSchema: undefined, brief: undefined, requireApproval: undefined, summarize: undefined } as const;
const DEFAULT_TIMEOUT_MS = 60_000;
/** As packages are named, `@scope/name`, and as the dialects name plugins. A provider's tool names start with a letter, and so do these. */
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
 * Makes a plugin and checks it. Applied to a plugin it gives an equal one.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export function definePlugin(definition: PluginDefinition): Plugin {
  return readable('a plugin', 'definePlugin({ id, tools: [defineTool({ … })] })', () => makePlugin(definition));
}

/** What is read of a definition may be of any type, and its getters may throw. */
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
/** In shorter words, a difference of two letters is most of the word. */
const SHORTEST_COMPARED = 5;
const LONGEST_COMPARED = 40;

/** An option that is not known but has almost the name of one, in quotes, and that one. Others are the author's own; so are all fields of a class. */
function misspeltOf(definition: object, known: string[]): string[] | undefined {
  const prototype: unknown = Object.getPrototypeOf(definition);
  // Plugins are made in other realms, too.
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

/** In quotes; of a long one the beginning. */
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

/** What is said of a tool for which the check does not hold. */
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

/** One that is misspelt would else just not be there. */
function areKnown(permissions: Permissions): boolean {
  return Object.keys(permissions).every((name) => ['network', 'env', 'fs', 'time', 'random'].includes(name));
}

function jsonSchemaOf(toolId: string, type: z.ZodType | JsonObject, io: 'input' | 'output'): JsonObject {
  if (!isZod(type)) return type;
  try {
    const schema = type.toJSONSchema({ io }) as JsonObject;
    // Zod writes 2020-12, which is what is taken for granted; a model gains nothing from the line.
    delete schema['$schema'];
    return schema;
  } catch (error) {
    const what = io === 'input' ? 'parameters' : 'result';
    const problem = `its zod ${what} ${io === 'input' ? 'have' : 'has'} no JSON Schema (${(error as Error).message})`;
    throw failure('PLUGIN_INVALID', { plugin: `of tool "${toolId}"`, problem, fix: 'Use types that JSON knows; dates as z.iso.datetime()' }, error);
  }
}

/** By a mark of its own: a plugin without zod is then bundled without it, which is most of the time that a small one takes to load. */
function isZod(type: z.ZodType | JsonObject | undefined): type is z.ZodType {
  return typeof type === 'object' && type !== null && '_zod' in type;
}

/** The JSON Schema has been checked before; this fills in defaults and applies what a schema cannot say (refinements). */
function parseInput(toolId: string, parameters: z.ZodType, input: JsonObject): unknown {
  const parsed = parameters.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`).join('; ');
  throw failure('TOOL_ARGUMENTS_INVALID', { tool: toolId, problems });
}
