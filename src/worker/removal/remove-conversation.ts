import type { WorkflowClient } from '@temporalio/client';
import type { Logger } from '../../platform/log.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import { isGone } from '../../sandbox/api/is-gone.ts';
import type { Store } from '../../store/store.ts';
import { fateOf } from '../../client/temporal/fate-of.ts';

export interface RemovalParts {
  store: Pick<Store, 'removal' | 'sandboxes'>;
  sandboxes: Pick<Sandboxes, 'destroy'>;
  workflows: Pick<WorkflowClient, 'getHandle'>;
  log: Logger;
}

/** `kept`: its workflow runs. `later`: its sandbox cannot be destroyed from here now. */
export type Removal = 'removed' | 'kept' | 'later';

/** Removes a marked conversation with its sandbox. Each step may be repeated: after a crash, the mark leads another worker here. */
export async function removeConversation(parts: RemovalParts, conversationId: string): Promise<Removal> {
  const { store, workflows } = parts;
  // Somebody may have started it again before it was marked.
  if ((await fateOf(workflows, conversationId)) === 'alive') {
    await store.removal.cancel(conversationId);
    return 'kept';
  }
  if (!(await destroySandbox(parts, conversationId))) return 'later';
  return (await store.removal.finish(conversationId)) ? 'removed' : 'later';
}

async function destroySandbox({ store, sandboxes, log }: RemovalParts, conversationId: string): Promise<boolean> {
  const row = await store.sandboxes.ofConversation(conversationId);
  if (!row || row.state === 'destroyed') return true;
  try {
    await sandboxes.destroy(row.sandboxId);
  } catch (error) {
    if (isGone(error)) return true;
    log.info({ conversationId, sandboxId: row.sandboxId, err: error }, 'the sandbox of a conversation to be removed could not be destroyed now');
    return false;
  }
  return true;
}
