import type { Plugin, Tool } from '../define-plugin.ts';

/** A plugin that can be taken away once nothing of it runs. */
export interface CountedPlugin {
  plugin: Plugin;
  /** Takes over what the plugin has made of its tools and alerts since. */
  refresh(): void;
  /** Resolves when no call of it is under way, or when `signal` aborts: to how many are. */
  drained(signal: AbortSignal): Promise<number>;
}

/** Counts the calls of a plugin's tools and of what it is asked for at each step. */
export function countCalls(plugin: Plugin): CountedPlugin {
  let running = 0;
  let wake = () => {};
  const counted = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
      if (running === 0) wake();
    }
  };
  const tools = () => plugin.tools.map((tool): Tool => ({ ...tool, execute: (input, context) => counted(() => tool.execute(input, context)) }));
  const watched: Plugin = {
    ...plugin,
    tools: tools(),
    ...(plugin.promptText && { promptText: (conversation) => counted(async () => plugin.promptText?.(conversation)) }),
    ...(plugin.selectTools && { selectTools: (conversation) => counted(async () => plugin.selectTools?.(conversation)) }),
  };
  return {
    plugin: watched,
    refresh() {
      watched.tools = tools();
      watched.alerts = plugin.alerts;
    },
    async drained(signal) {
      if (running > 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      return running;
    },
  };
}
