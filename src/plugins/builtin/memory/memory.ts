import { z } from 'zod';
import type { Agent } from '../../../contracts/agent.ts';
import { PATH_RULE, problemOfContent, problemOfPath } from '../../../common/given/memory-path.ts';
import { MEMORY_LIMITS, MEMORY_PLUGIN, type MemoryFiles, type MemoryOutcome, type MemoryPlace } from '../../../contracts/memory/memory.ts';
import { definePlugin, defineTool, type Plugin } from '../../api/define-plugin.ts';
import type { PluginConversation } from '../../api/plugin.ts';
import type { ToolContext } from '../../api/tool-context.ts';
import { fileText, hintFor, listText } from './memory-texts.ts';

type Agents = ReadonlyMap<string, Pick<Agent, 'memory'>>;
interface Parts {
  agents: Agents;
  files: MemoryFiles;
}

const path = z.string().describe('Path of the file, such as notes/style.md.');
const TOOL_IDS = ['list', 'read', 'write', 'delete'];
const OFF = 'This agent has no memory. Go on without it.';

/** The plugin with which agents keep files between conversations. Which memory it is, the file of the agent says, and no argument of a call. */
export function createMemoryPlugin(parts: Parts): Plugin {
  return definePlugin({
    id: MEMORY_PLUGIN,
    version: '1',
    description: 'Files that are kept between conversations',
    tools: [listTool(parts), readTool(parts), writeTool(parts), deleteTool(parts)],
    selectTools: async ({ agentId }) => (parts.agents.get(agentId)?.memory === undefined ? [] : TOOL_IDS),
    promptText: async ({ agentId }) => {
      const scope = parts.agents.get(agentId)?.memory;
      return scope && hintFor(scope);
    },
  });
}

function listTool({ agents, files }: Parts) {
  return defineTool({
    id: 'list',
    description: 'Lists the files of the memory with their versions and first lines.',
    parameters: z.strictObject({ prefix: z.string().max(200).default('').describe('Only paths that begin with this, such as notes/.') }),
    annotations: { title: 'List the memory', readOnlyHint: true, idempotentHint: true },
    requireApproval: false,
    summarize: ({ prefix }) => prefix,
    async execute({ prefix }, context) {
      const place = placeOf(agents, context);
      return place ? listText(await files.list(place, prefix), prefix) : refusal(OFF);
    },
  });
}

function readTool({ agents, files }: Parts) {
  return defineTool({
    id: 'read',
    description: 'Reads a file of the memory, in pieces when it is long, and tells its version, which memory:write needs.',
    parameters: z.strictObject({ path, offset: z.int().min(0).default(0).describe('First character to read.') }),
    annotations: { title: 'Read the memory', readOnlyHint: true, idempotentHint: true },
    requireApproval: false,
    summarize: (input) => input.path,
    async execute({ path: wanted, offset }, context) {
      const place = placeOf(agents, context);
      if (!place) return refusal(OFF);
      const found = await files.read(place, wanted);
      return found ? fileText(found, offset) : refusal(`The memory has no file ${JSON.stringify(wanted)}. List its files with memory:list.`);
    },
  });
}

function writeTool(parts: Parts) {
  return defineTool({
    id: 'write',
    description:
      'Writes a whole file of the memory. Give the version that you have read, or no version for a new file: a file that was changed meanwhile is not replaced, and you are told what it says now.',
    parameters: z.strictObject({
      path,
      content: z.string().describe(`All of the file, at most ${MEMORY_LIMITS.fileBytes} bytes.`),
      version: z.int().min(0).default(0).describe('The version that you have read. Default 0: a new file.'),
    }),
    annotations: { title: 'Write the memory', readOnlyHint: false, idempotentHint: true, destructiveHint: false, openWorldHint: false },
    requireApproval: false,
    summarize: (input) => input.path,
    execute: ({ path: wanted, content, version }, context) => change(parts, context, { path: wanted, content, version }),
  });
}

function deleteTool(parts: Parts) {
  return defineTool({
    id: 'delete',
    description: 'Removes a file of the memory that is no longer needed.',
    parameters: z.strictObject({ path, version: z.int().min(1).describe('The version that you have read.') }),
    annotations: { title: 'Remove from the memory', readOnlyHint: false, idempotentHint: true, destructiveHint: true, openWorldHint: false },
    requireApproval: false,
    summarize: (input) => input.path,
    execute: ({ path: wanted, version }, context) => change(parts, context, { path: wanted, content: null, version }),
  });
}

interface Wanted {
  path: string;
  content: string | null;
  version: number;
}

/** One call makes one change: a repeated attempt finds the version that the first one has written. */
async function change({ agents, files }: Parts, context: ToolContext, wanted: Wanted) {
  const place = placeOf(agents, context);
  if (!place) return refusal(OFF);
  const pathProblem = problemOfPath(wanted.path);
  if (pathProblem !== undefined) return refusal(`Not done: of the path, ${pathProblem}. ${PATH_RULE}.`);
  const problem = wanted.content === null ? undefined : problemOfContent(wanted.content);
  if (problem !== undefined) return refusal(`Not done: of the content, ${problem}. Write less, or split it into files by topic.`);
  const { conversationId, callId, userId } = context;
  const outcome = await files.write(place, { ...wanted, by: { kind: 'conversation', id: conversationId, callId, userId } });
  return outcome.outcome === 'written' ? doneText(wanted, outcome.version) : refusal(await refusalOf(files, place, wanted, outcome));
}

function doneText({ path: changed, content }: Wanted, version: number): string {
  return content === null ? `${changed} is removed.` : `${changed} is written, version ${version}.`;
}

async function refusalOf(files: MemoryFiles, place: MemoryPlace, { path: wanted, version }: Wanted, outcome: MemoryOutcome): Promise<string> {
  if (outcome.outcome === 'files')
    return `Not done: the memory has ${MEMORY_LIMITS.files} files, as many as it may. Add to a file, or remove one that is no longer needed.`;
  if (outcome.outcome === 'bytes')
    return `Not done: the memory may have ${MEMORY_LIMITS.bytes} bytes in all files. Make files shorter, or remove one that is no longer needed.`;
  const now = await files.read(place, wanted);
  if (!now) return `Not done: there is no file ${wanted} by now. To make it, write it without a version.`;
  const told = version === 0 ? 'there is such a file already' : `version ${version} is not the current one`;
  return `Not done: ${told}. Bring your change into what it says now, and give its version.\n${fileText(now, 0)}`;
}

function placeOf(agents: Agents, { tenantId, userId, agentId }: Pick<PluginConversation, 'tenantId' | 'userId' | 'agentId'>): MemoryPlace | undefined {
  const scope = agents.get(agentId)?.memory;
  switch (scope) {
    case 'user':
      return { tenantId, scope, owner: userId };
    case 'tenant':
      return { tenantId, scope, owner: '' };
    case 'agent':
      return { tenantId, scope, owner: agentId };
    default:
      return undefined;
  }
}

function refusal(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true };
}
