import { AsyncLocalStorage } from 'node:async_hooks';
import { failure } from '../../contracts/errors.ts';
import { definePlugin, type Plugin, type PluginDefinition, type Tool, type ToolContext } from './define-plugin.ts';
import { alertsOf, NATIVE_DIALECT } from './plugin-details.ts';
import { pluginOfExports } from './plugin-of-exports.ts';

/**
 * Makes the plugin of a module that was imported into this process.
 * @param defaults id, version and description for a plugin of another dialect than Longshore's own that does not give them itself.
 * @throws PLUGIN_INVALID naming the file and the problem.
 */
export function adoptModule(name: string, entry: string, exports: Record<string, unknown>, defaults: Partial<PluginDefinition>): Plugin {
  let given: Record<string, unknown>;
  try {
    given = pluginOfExports(exports);
  } catch (error) {
    const problem = `${entry} is not usable: ${(error as Error).message}`;
    throw failure('PLUGIN_INVALID', { plugin: JSON.stringify(name), problem, fix: 'Correct that file' }, error);
  }
  const { dialect = NATIVE_DIALECT } = given;
  const definition = { ...(dialect !== NATIVE_DIALECT && defaults), ...given, alerts: alertsOf(given['alerts']) };
  const plugin = definePlugin(definition as unknown as PluginDefinition);
  const attach = given['attach'];
  return typeof attach === 'function' ? attachTo(plugin, (current) => void attach.call(given, current)) : plugin;
}

/** Gives the plugin a function that returns the context of the current call, for code that is not passed the context. */
function attachTo(plugin: Plugin, attach: (current: () => ToolContext | undefined) => void): Plugin {
  const flow = new AsyncLocalStorage<ToolContext>();
  attach(() => flow.getStore());
  const follow = (tool: Tool): Tool => ({ ...tool, execute: (input, context) => flow.run(context, () => tool.execute(input, context)) });
  return { ...plugin, tools: plugin.tools.map(follow) };
}
