import type { ExecuteToolArgs, ExecuteToolResult } from '../../../contracts/activities.ts';
import type { Agent } from '../../../contracts/agent.ts';
import type { Logger } from '../../../platform/log.ts';
import type { HostOfQuestion } from '../../../plugins/api/server-question.ts';
import type { Registry } from '../../../plugins/registry/registry.ts';
import type { Store } from '../../../store/store.ts';
import type { AwaitedResults } from './awaited-results.ts';
import type { Within } from './within.ts';

/** What the desk of an attempt works with. */
export interface DeskParts {
  args: ExecuteToolArgs;
  store: Store;
  awaited: AwaitedResults;
  registry: Registry;
  agents: ReadonlyMap<string, Agent>;
  log: Logger;
  /** What the n-th question of a server may use, as long as the signal says. */
  hosts: (signal: AbortSignal) => (number: number) => HostOfQuestion;
  /** Runs a call within this attempt. Absent within such a call: its code could not wait for the workflow. */
  runAtOnce?: (args: ExecuteToolArgs, within: Within) => Promise<ExecuteToolResult>;
}
