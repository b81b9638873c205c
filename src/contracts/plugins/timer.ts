/** A timer of a plugin, for one conversation. */
export interface PluginTimer {
  /** Unique among those of the plugin in the conversation. */
  timerId: string;
  /** Milliseconds since 1970. */
  dueMs: number;
  text: string;
  /** The conversation has one such timer of the plugin at most: another one replaces it. */
  temporary: boolean;
}

/** How many timers of a plugin may wait in a conversation, or be set there within an hour. */
export const MOST_TIMERS = 100;

/** Characters. */
export const MAX_TIMER_TEXT = 4_000;

/** What a plugin is told that sets one more. */
export const TOO_MANY_TIMERS = `${MOST_TIMERS} timers of this plugin wait in the conversation, or were set there within an hour, which is the limit`;
