import type { TimeLeft } from '../../contracts/client-tool.ts';
import type { ProposedCall } from '../../contracts/activities.ts';

/** How an attempt at a call ended. */
export type RunOutcome =
  | { outcome: 'returned'; result: unknown }
  /** An error result, for the model. */
  | { outcome: 'failed'; text: string }
  | { outcome: 'interrupted'; text: string }
  | { outcome: 'unknown'; why: string }
  | { outcome: 'detached' }
  /**
   * Its code waits for calls; `calls` are those that are new to the workflow. `waitsFor`: the conversations of sub-agents that it waits for. `waitsForPlace`:
   * the tree of conversations is full.
   */
  | { outcome: 'suspended'; calls: ProposedCall[]; waitsFor?: string[]; waitsForPlace?: true; client?: TimeLeft }
  /** The outcome is not known yet; the error is thrown, so that Temporal retries. */
  | { outcome: 'later'; error: unknown };
