import { createRunningCalls, type RunningCalls } from '../../common/calls/running-calls.ts';
import type { Plugin, Tool } from '../api/define-plugin.ts';

/** A plugin that can be removed once none of its calls is under way. */
export interface CountedPlugin extends Pick<RunningCalls, 'drained'> {
  plugin: Plugin;
  /** Takes over tools and alerts that the plugin has changed. */
  refresh(): void;
}

/** Counts the calls of a plugin's tools and of its functions that run at each step. */
export function countCalls(plugin: Plugin): CountedPlugin {
  const { counted, drained } = createRunningCalls();
  const tools = () => plugin.tools.map((tool): Tool => ({ ...tool, execute: (input, context) => counted(() => tool.execute(input, context)) }));
  const watched: Plugin = {
    ...plugin,
    tools: tools(),
    ...(plugin.promptText && { promptText: (conversation) => counted(async () => plugin.promptText?.(conversation)) }),
    ...(plugin.receive && { receive: (delivery) => counted(async () => (plugin.receive as NonNullable<Plugin['receive']>)(delivery)) }),
    ...(plugin.selectTools && { selectTools: (conversation) => counted(async () => plugin.selectTools?.(conversation)) }),
  };
  return {
    plugin: watched,
    refresh() {
      watched.tools = tools();
      watched.alerts = plugin.alerts;
    },
    drained,
  };
}
