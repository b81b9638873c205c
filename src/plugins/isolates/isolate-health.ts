import type { FenceLevel } from './fence/fence.ts';

/**
 * State of a plugin's process. `asleep`: it was ended because it was not used, and the next call starts another. `broken`: there is no process, because the
 * last one could not load the plugin; the next call tries again. `left-alone`: it was ended so often that no process is started for a while.
 */
export type IsolateState = 'starting' | 'running' | 'asleep' | 'broken' | 'left-alone';

export interface IsolateHealth {
  state: IsolateState;
  /** Number of processes that replaced one that had ended. */
  restarts: number;
}

/** Health of all plugins that run in processes behind a fence, and the fence. */
export interface IsolatesHealth {
  level: FenceLevel;
  /** The level in words, with what is missing. */
  fence: string;
  /**
   * By their ids. A plugin has an entry for each of its processes: one for each tenant that uses it, for an old version beside a new one, and for parts
   * of it with permissions of their own.
   */
  plugins: (IsolateHealth & { plugin: string })[];
}
