import { Context } from '@temporalio/activity';
import type { ProposedCall } from '../../src/contracts/activities.ts';
import { Command } from './answers.ts';
import type { ToolScript } from './support.ts';

/** A tool that starts a command and follows it as the real executor does: a cancelled one lets go, a killed command is interrupted. */
export const followCommand: ToolScript = async ({ callId }, world) => {
  const command = world.commands.get(callId) ?? new Command();
  world.commands.set(callId, command);
  command.attaches += 1;
  if (world.sandboxTier !== 'running') world.sandboxTier = 'running';
  const context = Context.current();
  for (;;) {
    if (command.state === 'ended') return { outcome: 'finished', isError: false, sandboxTier: world.sandboxTier };
    if (command.state === 'killed') return { outcome: 'interrupted', sandboxTier: world.sandboxTier };
    if (context.cancellationSignal.aborted) return { outcome: 'detached', sandboxTier: world.sandboxTier };
    context.heartbeat();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

/** A tool whose code makes calls at its first attach and waits for all of them; when no call is new, it says that it only waits. */
export function suspendedBy(callId: string, methods: ProposedCall[]): ToolScript {
  let told = false;
  const done = new Set<string>();
  return async (args, world) => {
    world.sandboxTier = 'running';
    if (args.callId !== callId) {
      done.add(args.callId);
      return { outcome: 'finished', isError: false, sandboxTier: 'running' };
    }
    if (methods.every((method) => done.has(method.callId) || world.asked('settleCall').some((settled) => settled['callId'] === method.callId))) {
      return { outcome: 'finished', isError: false, sandboxTier: 'running' };
    }
    const fresh = told ? [] : methods;
    told = true;
    return { outcome: 'suspended', calls: fresh, sandboxTier: 'running' };
  };
}
