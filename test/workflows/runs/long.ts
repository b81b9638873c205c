import { Context } from '@temporalio/activity';
import type { ExecuteToolResult, ProposedCall } from '../../../src/contracts/activities.ts';
import { Command, toolCall, type Answer, type ToolScript, type World } from '../support.ts';

/** Temporal suggests a new run for a history of 4 MiB; eight of these are more. */
export const padding = 'x'.repeat(600_000);
export const long =
  (answer: Answer): Answer =>
  async (args) => ({ ...(await answer(args)), padding });
export const finished = (more: object = {}): ExecuteToolResult => ({ outcome: 'finished', isError: false, sandboxTier: 'running', ...more });
export const counted = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Code that calls tools one after the other. Each of the calls makes the history longer. Like other commands, it is let go when its attach is cancelled. */
export function codeThatCalls(callId: string, methods: string[], more: object = { padding }): ToolScript {
  const done = new Set<string>();
  return async (args, world) => {
    world.sandboxTier = 'running';
    if (args.callId !== callId) {
      done.add(args.callId);
      return finished(more);
    }
    const code = world.commands.get(callId) ?? new Command();
    world.commands.set(callId, code);
    const next = methods[done.size];
    if (next === undefined) return finished();
    // It reports calls that the workflow does not own yet, and waits for those that it owns.
    if (!args.openMethods?.includes(next)) return suspended(toolCall({ callId: next, hash: `hash-${next}`, needsSandbox: false }));
    return followed(code, world, () => done.has(next));
  };
}

function suspended(...calls: ProposedCall[]): ExecuteToolResult {
  return { outcome: 'suspended', calls, sandboxTier: 'running' };
}

async function followed(code: Command, world: World, isDone: () => boolean): Promise<ExecuteToolResult> {
  const context = Context.current();
  for (;;) {
    if (code.state === 'killed') return { outcome: 'interrupted', sandboxTier: 'running' };
    if (context.cancellationSignal.aborted) return { outcome: 'detached', sandboxTier: world.sandboxTier };
    if (isDone()) return suspended();
    context.heartbeat();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
