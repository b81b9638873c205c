import type { z } from 'zod';
import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { misspeltOf, readable, shownId } from './read-plugin-definition.ts';
import type { Tool, ToolDefinition } from './tool.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
/** The fields of a tool that are data and that its author may set. */
export const TOOL_DATA =
  'id description parameters kind annotations timeoutMs isolation permissions resultSchema visibility brief requireApproval metadata'.split(' ');
const TOOL_KEYS = [...TOOL_DATA, 'summarize', 'execute'];

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
  const { id } = definition;
  const parse = (input: JsonObject) => (isZod(parameters) ? accepted(id, parameters.safeParse(input)) : input);
  // Refinements and transforms of zod may be asynchronous.
  const parseInTime = async (input: JsonObject) => (isZod(parameters) ? accepted(id, await parameters.safeParseAsync(input)) : input);
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
    execute: async (input, context) => definition.execute((await parseInTime(input)) as Input, context),
  };
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

/** The input already fits the JSON Schema. Parsing fills in defaults and applies refinements, which a JSON Schema cannot express. */
function accepted(toolId: string, parsed: z.ZodSafeParseResult<unknown>): unknown {
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`).join('; ');
  throw failure('TOOL_ARGUMENTS_INVALID', { tool: toolId, problems });
}
