import type { Plugin, Tool } from '../api/define-plugin.ts';

/** A plugin that can be removed once none of its calls is under way. */
export interface CountedPlugin {
  plugin: Plugin;
  /** Takes over tools and alerts that the plugin has changed. */
  refresh(): void;
  /** Resolves when none of its calls is under way, or when `signal` aborts, with the number of calls that are still under way. */
  drained(this: void, signal: AbortSignal): Promise<number>;
}

/** Work that is counted while it is under way. */
export interface RunningCalls extends Pick<CountedPlugin, 'drained'> {
  counted<Result>(this: void, work: () => Promise<Result>): Promise<Result>;
}

export function createRunningCalls(): RunningCalls {
  let running = 0;
  let wake = () => {};
  return {
    async counted(work) {
      running += 1;
      try {
        return await work();
      } finally {
        running -= 1;
        if (running === 0) wake();
      }
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

/** Counts the calls of a plugin's tools and of its functions that run at each step. */
export function countCalls(plugin: Plugin): CountedPlugin {
  const { counted, drained } = createRunningCalls();
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
    drained,
  };
}
