import type { HibernateSandboxArgs, SandboxActionArgs, SandboxActionResult } from '../contracts/activities.ts';
import type { SandboxTier } from '../contracts/conversation.ts';
import { isFailure } from '../contracts/errors.ts';
import type { Sandboxes } from '../sandbox/sandbox.ts';
import type { Store } from '../store/store.ts';
import type { ConversationSandboxes } from './sandbox-of-conversation.ts';

/** Moves the conversation's sandbox between its tiers. A conversation that has none yet stays at `none`. */
export function createSandboxLifecycle({ store, sandboxes, opened }: { store: Store; sandboxes: Sandboxes; opened: ConversationSandboxes }) {
  return {
    freezeSandbox: action((sandboxId) => sandboxes.freeze(sandboxId)),
    hibernateSandbox: ({ otherwise, ...conversation }: HibernateSandboxArgs) =>
      action((sandboxId) => sandboxes.hibernate(sandboxId, { otherwise }))(conversation),
    wakeSandbox: action((sandboxId) => sandboxes.wake(sandboxId)),
    stopSandbox: action((sandboxId) => sandboxes.stop(sandboxId)),
    destroySandbox: action(async (sandboxId, conversationId) => {
      await sandboxes.destroy(sandboxId);
      opened.forget(conversationId);
      return 'destroyed';
    }),
  };

  function action(change: (sandboxId: string, conversationId: string) => Promise<SandboxTier>) {
    return async ({ conversationId }: SandboxActionArgs): Promise<SandboxActionResult> => {
      const row = await store.sandboxes.ofConversation(conversationId);
      if (!row) return { sandboxTier: 'none' };
      if (row.state === 'destroyed') return { sandboxTier: 'destroyed' };
      return { sandboxTier: await change(row.sandboxId, conversationId).catch(tierOf) };
    };
  }
}

/** A sandbox that is gone is an outcome of these actions; the next tool call decides what to do about it. */
function tierOf(error: unknown): SandboxTier {
  if (isFailure(error, 'SANDBOX_LOST')) return 'lost';
  if (isFailure(error, 'SANDBOX_DESTROYED')) return 'destroyed';
  if (isFailure(error, 'SANDBOX_NOT_FOUND')) return 'none';
  throw error;
}
