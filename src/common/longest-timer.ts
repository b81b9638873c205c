/** Milliseconds: a timer of the platform that is set for longer fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
