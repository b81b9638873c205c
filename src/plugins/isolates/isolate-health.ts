import type { FenceLevel } from './fence/fence.ts';

/**
 * How a plugin's process is. `asleep`: it was ended since nobody used it, and the next call starts another. `broken`: there is none, since the last one
 * could not be set to work; the next call tries it again. `left-alone`: it was ended so often that it is not started for a while.
 */
export type IsolateState = 'starting' | 'running' | 'asleep' | 'broken' | 'left-alone';

export interface IsolateHealth {
  state: IsolateState;
  /** Processes that took the place of one that had ended. */
  restarts: number;
}

/** How all plugins in fenced processes are, and what keeps them in. */
export interface IsolatesHealth {
  level: FenceLevel;
  /** The level in words, with what is missing. */
  fence: string;
  /** By their ids. One stands here for each of its processes: of each tenant that uses it, of an old version beside a new one, of Pandora's entries with permissions of their own. */
  plugins: (IsolateHealth & { plugin: string })[];
}
