import type { ExecuteToolArgs, ExecuteToolResult } from '../../contracts/activities.ts';
import type { CallMetrics, CallOutcome } from '../../metrics/worker-metrics.ts';
import type { Registry } from '../../plugins/registry/registry.ts';

type ExecuteTool = (args: ExecuteToolArgs) => Promise<ExecuteToolResult>;

/** Reports to the metrics how each attempt ended and how long it took. */
export function measured(execute: ExecuteTool, { metrics, registry }: { metrics?: CallMetrics; registry: Pick<Registry, 'get'> }): ExecuteTool {
  if (!metrics) return execute;
  return async (args) => {
    const startedAt = performance.now();
    let outcome: CallOutcome = 'thrown';
    try {
      const result = await execute(args);
      outcome = result.outcome === 'finished' && result.isError ? 'failed' : result.outcome;
      return result;
    } finally {
      metrics.toolCall(registry.get(args.tool)?.id ?? 'unknown', outcome, (performance.now() - startedAt) / 1000);
    }
  };
}
