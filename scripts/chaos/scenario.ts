import type { Rule, Verdict } from './verdict.ts';
import type { World } from './world.ts';

export interface Run {
  verdict: Verdict;
  /** Prints a line with the time since the start. */
  say: (line: string) => void;
  /** How long faults or load go on. */
  minutes: number;
}

/** Conversations begin new runs every few steps, also within a turn. By default, Temporal suggests that at 4,096 events. */
export const SHORT_RUNS = { 'limit.historyCount.suggestContinueAsNew': 80 };

/** One way to break an installation; the file of its name has it. */
export interface Scenario {
  summary: string;
  /** Without `--minutes`. */
  minutes: number;
  /** What it tests, besides that nothing is left. */
  rules: readonly Rule[];
  /** Processes are killed. */
  spares: boolean;
  /** The data of Postgres are on a disk of their own, of so many megabytes. */
  postgresDiskMb?: number;
  /** More of the dynamic configuration of Temporal's server. */
  temporal?: Record<string, number>;
  /** On the host of this machine's engine; one that has hosts of its own starts their workers itself. */
  workers: number;
  /** Why this machine cannot run it; undefined when it can. */
  missing?(): Promise<string | undefined>;
  run(world: World, run: Run): Promise<void>;
}
