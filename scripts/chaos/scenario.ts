import type { Rule, Verdict } from './verdict.ts';
import type { World } from './world.ts';

export interface Run {
  verdict: Verdict;
  /** Prints a line with the time since the start. */
  say: (line: string) => void;
  /** How long faults or load go on. */
  minutes: number;
}

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
  /** On the host of this machine's engine; one that has hosts of its own starts their workers itself. */
  workers: number;
  /** Why this machine cannot run it; undefined when it can. */
  missing?(): Promise<string | undefined>;
  run(world: World, run: Run): Promise<void>;
}
