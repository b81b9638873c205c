import { createHash } from 'node:crypto';
import { RecentMap } from '../../common/recent-map.ts';
import { stableJson } from '../../common/stable-json.ts';
import { CLIENT_PLUGIN, type ClientTool, type ClientTools } from '../../contracts/client-tool.ts';
import { failure } from '../../contracts/errors.ts';
import { definePlugin, defineTool, type Plugin, type Tool } from '../api/define-plugin.ts';

const MOST_PLUGINS = 200;
/** By their versions, so that the schemas of the same declarations are compiled once. */
const plugins = new RecentMap<string, Plugin>(MOST_PLUGINS);

/** Tools that clients run, as a plugin. Undefined when there are none. */
export function clientPlugin(declared: ClientTools): Plugin | undefined {
  if (Object.keys(declared).length === 0) return undefined;
  const version = versionOf(declared);
  const plugin = plugins.get(version) ?? makePlugin(declared, version);
  plugins.set(version, plugin);
  return plugin;
}

function makePlugin(declared: ClientTools, version: string): Plugin {
  const tools = Object.entries(declared).map(([name, tool]) => toolOf(name, tool));
  return definePlugin({ id: CLIENT_PLUGIN, version, description: 'Tools of clients', tools });
}

/** An approval holds for the tools as they were declared then. */
function versionOf(declared: ClientTools): string {
  return createHash('sha256').update(stableJson(declared)).digest('hex').slice(0, 12);
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
