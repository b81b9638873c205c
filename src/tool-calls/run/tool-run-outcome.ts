import type { ProposedCall } from '../../contracts/activities.ts';

/** How an attempt at a call ended. */
export type RunOutcome =
  | { outcome: 'returned'; result: unknown }
  /** An error result, for the model. */
  | { outcome: 'failed'; text: string }
  | { outcome: 'interrupted'; text: string }
  | { outcome: 'unknown'; why: string }
  | { outcome: 'detached' }
  /** Its code waits for calls; `calls` are those that are new to the workflow. */
  | { outcome: 'suspended'; calls: ProposedCall[] }
  /** The outcome is not known yet; the error is thrown, so that Temporal retries. */
  | { outcome: 'later'; error: unknown };
