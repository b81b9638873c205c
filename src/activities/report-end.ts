import type { ReportEndArgs } from '../contracts/sub-agent.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { tellOfEnd } from '../tool-calls/run/sub-agents.ts';

/** Reports the end of a sub-agent. */
export function createReportEnd(parts: Pick<ActivityDependencies, 'store' | 'subAgents'>) {
  return async function reportEnd(args: ReportEndArgs): Promise<void> {
    await tellOfEnd(parts, args);
  };
}
