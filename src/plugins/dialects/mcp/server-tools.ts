import { createHash } from 'node:crypto';
import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { CallToolResultSchema, ToolSchema } from '@modelcontextprotocol/core';
import { cutMiddle } from '../../../contracts/visible-text.ts';
import type { McpLimits } from '../../../contracts/mcp/server.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import { defineTool, type Tool, type ToolAnnotations } from '../../api/define-plugin.ts';
import { createCompiler } from '../../schemas/validate-arguments.ts';
import { MAX_PAGES, type ListedTools } from './offers/listed-tools.ts';
import { limitOf } from './call-limits.ts';
import { offeredTools } from './offers/offered-tools.ts';
import type { ServerCall, TaskUse } from './offers/server-call.ts';
import { serverResultOf } from './server-result.ts';

export type RunServerTool = (call: ServerCall) => Pick<Tool, 'isolation' | 'execute' | 'mayAsk' | 'mayAskModel' | 'mayGoOn'>;

export interface ServerTools {
  tools: Tool[];
  /** Tools that were left out, and why. */
  problems: string[];
}

const MAX_TOOLS = 500;
const MAX_DEFINITION_BYTES = 64 * 1024;
const LONGEST_ID = 80;

/** A server's tools as tools of a plugin. A tool that cannot be used is left out and reported; the others work. */
export function toolsOf(
  pluginId: string,
  { tools: given, offers = [], problems: before = [], inRounds }: Omit<ListedTools, 'version'>,
  limits: McpLimits,
  run: RunServerTool,
): ServerTools {
  const listed = given.filter((each) => !isMorePages(each));
  const compile = createCompiler();
  const tools = new Map<string, Tool>();
  const problems: string[] = [...before];
  const rounds = inRounds ? { inRounds } : {};
  if (listed.length < given.length) problems.push(`Its list of tools has more than ${MAX_PAGES} pages; tools of those after them are left out`);
  if (listed.length > MAX_TOOLS) problems.push(`It has ${listed.length} tools; the first ${MAX_TOOLS} are used`);
  const making = { limits, run: (call: ServerCall) => run({ ...call, ...rounds }), hasTasks: offers.includes('tasks') };
  for (const described of listed.slice(0, MAX_TOOLS)) {
    try {
      const tool = toolOf(parse(described), making, (id) => tools.has(id));
      compile(pluginId, tool.id, 'parameters', tool.parameters);
      if (tool.resultSchema) compile(pluginId, tool.id, 'result', tool.resultSchema);
      tools.set(tool.id, tool);
    } catch (error) {
      problems.push(leftOut(described, error as Error));
    }
  }
  for (const { tool, ...call } of offeredTools(offers, limits.timeoutMs)) {
    const id = idOf(tool.id, (taken) => tools.has(taken));
    tools.set(id, { ...tool, id, ...making.run({ name: tool.id, ...call }) });
  }
  const names = listed.map((each) => (each as { name?: unknown } | null)?.name);
  const unknown = Object.keys(limits.toolTimeoutsMs ?? {}).filter((name) => !names.includes(name));
  if (unknown.length > 0) problems.push(`"timeouts" names tools that it does not have: ${unknown.join(', ')}`);
  return { tools: [...tools.values()], problems };
}

function leftOut(described: unknown, { message }: Error): string {
  return `Its tool ${JSON.stringify(cutMiddle(String((described as { name?: unknown } | null)?.name), 100))} is left out: ${cutMiddle(message, 500)}`;
}

function isMorePages(listed: unknown): boolean {
  return typeof listed === 'object' && listed !== null && 'morePages' in listed && !('name' in listed);
}

function parse(given: unknown): ServerTool {
  const size = JSON.stringify(given).length;
  if (size > MAX_DEFINITION_BYTES) throw new Error(`its definition has ${size} characters; at most ${MAX_DEFINITION_BYTES} are allowed`);
  const parsed = ToolSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`).join('; '));
}

interface Making {
  limits: McpLimits;
  run: RunServerTool;
  hasTasks: boolean;
}

function toolOf(given: ServerTool, { limits, run, hasTasks }: Making, isTaken: (id: string) => boolean): Tool {
  const { name, title, description, inputSchema, outputSchema, annotations = {} } = given;
  const task = taskUseOf(given, hasTasks);
  const hints = annotationsOf(annotations, title);
  return {
    ...defineTool({
      id: idOf(name, isTaken),
      description: description?.trim() || hints.title || name,
      parameters: { ...(inputSchema as JsonObject), type: 'object' },
      annotations: hints,
      timeoutMs: limitOf(limits, name),
      ...(outputSchema && { resultSchema: outputSchema as JsonObject }),
      execute: async () => null,
    }),
    ...run({
      name,
      ...(task && { task }),
      run: async (input, ask) => serverResultOf(CallToolResultSchema.parse(await ask({ method: 'tools/call', params: { name, arguments: input } }, task))),
    }),
  };
}

function taskUseOf({ execution: { taskSupport = 'forbidden' } = {} }: ServerTool, hasTasks: boolean): TaskUse | undefined {
  if (taskSupport === 'required' && !hasTasks) {
    throw new Error('it runs only as a task (execution.taskSupport is "required"), and its server does not offer tasks');
  }
  return taskSupport === 'forbidden' || !hasTasks ? undefined : taskSupport;
}

function annotationsOf(given: NonNullable<ServerTool['annotations']>, ownTitle: string | undefined): ToolAnnotations {
  const title = ownTitle ?? given.title;
  const hints = (['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const).filter((hint) => given[hint] !== undefined);
  return { ...(title !== undefined && { title }), ...Object.fromEntries(hints.map((hint) => [hint, given[hint]])) };
}

/** Most names are valid ids. A name that is not, or that leads to the same id as another, gets a digest of the name as its end. */
function idOf(name: string, isTaken: (id: string) => boolean): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]/g, '_');
  if (plain !== '' && plain.length <= LONGEST_ID && !isTaken(plain)) return plain;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  const id = `${plain.slice(0, LONGEST_ID - 9)}_${digest}`;
  if (isTaken(id)) throw new Error('another one has the same name');
  return id;
}
