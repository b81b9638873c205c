import { createHash } from 'node:crypto';
import { stableJson } from '../../common/stable-json.ts';
import type { Agent } from '../../contracts/agent.ts';
import { CLIENT_PLUGIN, type ClientTool } from '../../contracts/client-tool.ts';
import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { definePlugin, defineTool, type Plugin, type Tool } from '../api/define-plugin.ts';

/** By their declarations, so that their schemas are compiled once. */
const plugins = new WeakMap<object, Plugin>();

/** The tools that clients run in the conversations of an agent, as a plugin. Undefined when there are none. */
export function clientPlugin({ clientTools }: Pick<Agent, 'clientTools'>): Plugin | undefined {
  if (clientTools === undefined || Object.keys(clientTools).length === 0) return undefined;
  const plugin = plugins.get(clientTools) ?? makePlugin(clientTools);
  plugins.set(clientTools, plugin);
  return plugin;
}

function makePlugin(declared: Record<string, ClientTool>): Plugin {
  const tools = Object.entries(declared).map(([name, tool]) => toolOf(name, tool));
  return definePlugin({ id: CLIENT_PLUGIN, version: versionOf(declared), description: 'Tools of clients', tools });
}

/** An approval holds for the tools as they were declared then. */
function versionOf(declared: Record<string, ClientTool>): string {
  return createHash('sha256')
    .update(stableJson(declared as unknown as JsonObject))
    .digest('hex')
    .slice(0, 12);
}

function toolOf(id: string, { description, parameters, output, timeoutMs, otherwise, requireApproval }: ClientTool): Tool {
  const tool = defineTool({
    id,
    description,
    parameters,
    ...(output && { resultSchema: output }),
    requireApproval,
    execute: () => {
      throw failure('TOOL_FAILED', { tool: `${CLIENT_PLUGIN}:${id}`, problem: 'only clients run it' });
    },
  });
  return { ...tool, client: { timeoutMs, otherwise, ...(output && { output }) } };
}
