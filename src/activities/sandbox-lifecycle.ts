import { Context } from '@temporalio/activity';
import type { FreezeSandboxArgs, HibernateSandboxArgs, SandboxActionArgs, SandboxActionResult } from '../contracts/activities.ts';
import type { SandboxTier } from '../contracts/conversation.ts';
import { isFailure } from '../contracts/errors.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import type { Store } from '../store/store.ts';
import type { ConversationSandboxes } from '../tool-calls/run/sandbox-of-conversation.ts';

const HEARTBEAT_MS = 5000;

/** Moves the conversation's sandbox between its tiers. A conversation that has none yet stays at `none`. */
export function createSandboxLifecycle({ store, sandboxes, opened }: { store: Store; sandboxes: Sandboxes; opened: ConversationSandboxes }) {
  return {
    freezeSandbox: ({ mode = 'pause', ...conversation }: FreezeSandboxArgs) => action((sandboxId) => sandboxes.freeze(sandboxId, { mode }))(conversation),
    hibernateSandbox: ({ otherwise, ...conversation }: HibernateSandboxArgs) =>
      action((sandboxId) => sandboxes.hibernate(sandboxId, { otherwise }))(conversation),
    archiveSandbox: ({ otherwise, ...conversation }: HibernateSandboxArgs) =>
      whileBeating(() =>
        action(async (sandboxId, conversationId) => {
          const tier = await sandboxes.archive(sandboxId, { otherwise });
          // The sandbox may wake on another host. Without a held handle, the next open reports what the archive did not contain.
          opened.forget(conversationId);
          return tier;
        })(conversation),
      ),
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
      return { sandboxTier: await change(row.sandboxId, conversationId).catch(tierAfterFailure) };
    };
  }
}

async function whileBeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const beating = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beating);
  }
}

/** A sandbox that is gone is an expected outcome of these actions; the next tool call decides how to handle it. */
function tierAfterFailure(error: unknown): SandboxTier {
  if (isFailure(error, 'SANDBOX_LOST')) return 'lost';
  if (isFailure(error, 'SANDBOX_DESTROYED')) return 'destroyed';
  if (isFailure(error, 'SANDBOX_NOT_FOUND')) return 'none';
  throw error;
}
