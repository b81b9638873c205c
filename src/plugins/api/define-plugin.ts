import { failure } from '../../contracts/errors.ts';
import { detailsOf, problemOfDetails, UNVERSIONED } from './plugin-details.ts';
import type { Plugin, PluginDefinition } from './plugin.ts';
import { misspeltOf, readable, shownId } from './read-plugin-definition.ts';
import { problemOfTools } from './tool-problems.ts';

export { defineTool } from './define-tool.ts';
export type { FencedIsolation, Isolation, Permissions, Tool, ToolAnnotations, ToolDefinition, ToolKind, ToolResult, Visibility } from './tool.ts';
export type { FileSource, PluginStore, StoreEntry, StoreScope, ToolContext, ToolFiles, ToolSandbox } from './tool-context.ts';
export type { Dialect, Plugin, PluginAlert, PluginConversation, PluginDefinition, PluginDetails, PluginHost } from './plugin.ts';

/** Defaults for a tool that was written as a plain object. */
const UNSAID = { permissions: {}, visibility: 'visible', resultSchema: undefined, brief: undefined, requireApproval: undefined, summarize: undefined } as const;
/** Allows package names (`@scope/name`) and the plugin names of the dialects. Starts with a letter, because model providers require that of tool names. */
export const PLUGIN_ID = /^(@[A-Za-z][\w.-]{0,38}\/)?[A-Za-z][\w.-]{0,39}$/;
export const PLUGIN_ID_IN_WORDS = 'use a letter, then letters, digits, -, _ and ., 40 at most; @scope/ may stand before it';
const PLUGIN_KEYS =
  'id version description tools dialect source brief dependencies environment configSchema requireApproval alerts problem promptText selectTools load unload updateConfig'.split(
    ' ',
  );
/**
 * Makes a plugin and checks it. The definition may itself be a plugin; the result is then equal to it.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export function definePlugin(definition: PluginDefinition): Plugin {
  return readable('a plugin', 'definePlugin({ id, tools: [defineTool({ … })] })', () => makePlugin(definition));
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
