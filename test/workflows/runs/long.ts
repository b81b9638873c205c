import { Context } from '@temporalio/activity';
import type { ExecuteToolResult } from '../../../src/contracts/activities.ts';
import { Command, toolCall, type Answer, type ToolScript } from '../support.ts';

/** Temporal suggests a new run for a history of 4 MiB; eight of these are more. */
export const padding = 'x'.repeat(600_000);
export const long =
  (answer: Answer): Answer =>
  async (args) => ({ ...(await answer(args)), padding });
export const finished = (more: object = {}): ExecuteToolResult => ({ outcome: 'finished', isError: false, sandboxTier: 'running', ...more });
export const counted = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Code that calls tools one after the other. Each of the calls makes the history longer. Like other commands, it is let go when its attach is cancelled. */
export function codeThatCalls(callId: string, methods: string[]): ToolScript {
  const done: string[] = [];
  return async (args, world) => {
    world.sandboxTier = 'running';
    if (args.callId !== callId) {
      if (!done.includes(args.callId)) done.push(args.callId);
      return finished({ padding });
    }
    const code = world.commands.get(callId) ?? new Command();
    world.commands.set(callId, code);
    const next = methods[done.length];
    if (next === undefined) return finished();
    const context = Context.current();
    // It tells of the calls that the workflow does not own yet, and waits for those that it does.
    const isOwned = args.openMethods?.includes(next) === true;
    while (isOwned && !done.includes(next) && code.state === 'running' && !context.cancellationSignal.aborted) {
      context.heartbeat();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    if (code.state === 'killed') return { outcome: 'interrupted', sandboxTier: 'running' };
    if (context.cancellationSignal.aborted) return { outcome: 'detached', sandboxTier: world.sandboxTier };
    return { outcome: 'suspended', calls: isOwned ? [] : [toolCall({ callId: next, hash: `hash-${next}`, needsSandbox: false })], sandboxTier: 'running' };
  };
}
