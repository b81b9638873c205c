import { z } from 'zod';
import { failure } from '../contracts/errors.ts';
import type { Json, JsonObject } from '../contracts/json.ts';
import type { ContentPart } from '../contracts/transcript.ts';
import type { CodeResult, RunCodeOptions, SandboxHandle } from '../sandbox/sandbox.ts';

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

/** What a tool is given besides its arguments. The host sets the ids; a model cannot forge them. */
export interface ToolContext {
  conversationId: string;
  userId: string;
  tenantId: string;
  agentId: string;
  turnId: string;
  /** The idempotency key of this call. */
  callId: string;
  /** Aborts when the call is to end. */
  signal: AbortSignal;
  logger: { info(message: string, values?: object): void; warn(message: string, values?: object): void };
  /** Shows progress in the Temporal UI; at most 200 characters. */
  heartbeat(progress: string): void;
  /**
   * The conversation's sandbox, for tools with `isolation: 'container'`. Run commands through `exec`: it names them after this call,
   * so that a repeated `execute` attaches to what it started before instead of running it again.
   */
  sandbox: ToolSandbox;
}

export interface ToolSandbox {
  handle(): Promise<SandboxHandle>;
  /** Runs a command once for this call, however often `execute` is repeated: the n-th `exec` of a call always has the same id. Its output goes to the events. */
  exec(
    command: string,
    options?: {
      cwd?: string;
      env?: Record<string, string>;
      stdin?: string | Uint8Array;
      timeoutMs?: number;
      /** Keeps the output out of the events. */
      quiet?: boolean;
      /** Lets its code call the tools of the conversation. */
      methods?: boolean;
    },
  ): Promise<import('../sandbox/sandbox.ts').CommandResult>;
  /** Runs a piece of code once for this call, named as `exec` names commands. What it prints goes to the events. */
  runCode(code: string, options: Pick<RunCodeOptions, 'language' | 'contextId' | 'cwd' | 'env' | 'timeoutMs'> & { methods?: boolean }): Promise<CodeResult>;
  /** Starts a command that outlives the call. */
  start(command: string, options?: { cwd?: string; env?: Record<string, string>; timeoutMs?: number }): Promise<import('../sandbox/sandbox.ts').ExecInfo>;
}

/** A tool's answer: text, any JSON value (shown to the model as JSON), or content parts; `isError` tells the model that it failed. */
export type ToolResult = string | Json | { content: ContentPart[]; isError?: boolean };

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
  /** Where its effects are: `container` for tools that work only through `context.sandbox`, `host` for code of the worker. */
  isolation: 'container' | 'host';
  requireApproval: boolean | undefined;
  /** A line for the Temporal UI, made from the arguments. */
  summarize: ((input: JsonObject) => string) | undefined;
  execute(input: JsonObject, context: ToolContext): Promise<ToolResult>;
}

export interface ToolDefinition<Parameters extends z.ZodType | JsonObject> {
  id: string;
  description: string;
  parameters: Parameters;
  kind?: ToolKind;
  annotations?: ToolAnnotations;
  timeoutMs?: number;
  isolation?: 'container' | 'host';
  requireApproval?: boolean;
  summarize?(input: Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject): string;
  execute(input: Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject, context: ToolContext): Promise<ToolResult>;
}

export interface Plugin {
  /** Lower-case letters, digits, `-`. */
  id: string;
  version: string;
  description: string;
  tools: Tool[];
}

export interface PluginDefinition {
  id: string;
  /** Part of the hash that approvals are bound to; change it with the behaviour. Default `0.0.0`. */
  version?: string;
  description?: string;
  tools: Tool[];
}

const DEFAULT_TIMEOUT_MS = 60_000;
/** A provider's tool names start with a letter and have no `:`; these ids leave room for a reversible alias. */
const PLUGIN_ID = /^[a-z][a-z0-9-]{0,39}$/;
const TOOL_ID = /^[A-Za-z0-9_.-]{1,80}$/;

/**
 * Makes a tool from its definition. Parameters are a zod object or a JSON Schema of an object; with zod, `execute` gets the parsed input (defaults filled in).
 * @throws PLUGIN_INVALID when the parameters cannot be shown to a model as the JSON Schema of an object.
 */
export function defineTool<Parameters extends z.ZodType | JsonObject>(definition: ToolDefinition<Parameters>): Tool {
  const { parameters } = definition;
  const parse = parameters instanceof z.ZodType ? (input: JsonObject) => parseInput(definition.id, parameters, input) : (input: JsonObject) => input;
  type Input = Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject;
  return {
    id: definition.id,
    description: definition.description,
    parameters: jsonSchemaOf(definition.id, parameters),
    kind: definition.kind ?? 'tool',
    annotations: definition.annotations ?? {},
    timeoutMs: definition.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    isolation: definition.isolation ?? 'host',
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
  const { id, version = '0.0.0', description = '', tools } = definition;
  const invalid = (problem: string, fix: string): Error => failure('PLUGIN_INVALID', { plugin: JSON.stringify(id) ?? '(without id)', problem, fix });
  if (typeof id !== 'string' || !PLUGIN_ID.test(id)) {
    throw invalid(`the id ${JSON.stringify(id) ?? 'is missing and'} is not usable`, 'Use a lower-case letter, then letters, digits and -, 40 at most');
  }
  if (typeof version !== 'string' || typeof description !== 'string') throw invalid('version and description have to be texts', 'Put them in quotes');
  if (!Array.isArray(tools)) throw invalid('"tools" is not a list', 'Give it as tools: [defineTool({ … })]');
  const seen = new Set<string>();
  for (const tool of tools) {
    const problem = problemOfTool(tool);
    if (problem) throw invalid(problem, 'Make each tool with defineTool({ id, description, parameters, execute })');
    if (seen.has(tool.id)) throw invalid(`two tools have the id "${tool.id}"`, 'Rename one');
    seen.add(tool.id);
  }
  return { id, version, description, tools: [...tools] };
}

function problemOfTool(tool: Partial<Tool> | undefined | null): string | undefined {
  if (typeof tool?.id !== 'string' || !TOOL_ID.test(tool.id)) {
    return `the tool id ${JSON.stringify(tool?.id) ?? '(none)'} is not usable; letters, digits, _, - and . are, 80 at most`;
  }
  const [problem] = CHECKS.find(([, holds]) => !holds(tool)) ?? [];
  return problem && `tool "${tool.id}" ${problem}`;
}

/** What is said of a tool for which the check does not hold. */
const CHECKS: [problem: string, holds: (tool: Partial<Tool>) => boolean][] = [
  ['has no description, so a model cannot know when to call it', ({ description }) => typeof description === 'string' && description.trim() !== ''],
  ['has no execute function', ({ execute }) => typeof execute === 'function'],
  ['has parameters that are not the JSON Schema of an object ("type": "object")', ({ parameters }) => parameters?.['type'] === 'object'],
  ['has a timeoutMs that is not a number above 0', ({ timeoutMs }) => typeof timeoutMs === 'number' && timeoutMs > 0],
  ['was not made by defineTool', ({ kind, annotations, isolation }) => Boolean(kind && annotations && isolation)],
];

function jsonSchemaOf(toolId: string, parameters: z.ZodType | JsonObject): JsonObject {
  if (!(parameters instanceof z.ZodType)) return parameters;
  try {
    const schema = z.toJSONSchema(parameters, { io: 'input' }) as JsonObject;
    // Zod writes 2020-12, which is what is taken for granted; a model gains nothing from the line.
    delete schema['$schema'];
    return schema;
  } catch (error) {
    const problem = `its zod parameters have no JSON Schema (${(error as Error).message})`;
    throw failure('PLUGIN_INVALID', { plugin: `of tool "${toolId}"`, problem, fix: 'Use types that JSON knows; dates as z.iso.datetime()' }, error);
  }
}

/** The JSON Schema has been checked before; this fills in defaults and applies what a schema cannot say (refinements). */
function parseInput(toolId: string, parameters: z.ZodType, input: JsonObject): unknown {
  const parsed = parameters.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`).join('; ');
  throw failure('TOOL_ARGUMENTS_INVALID', { tool: toolId, problems });
}
