import { failure } from '../../contracts/errors.ts';
import { targetOfRow } from '../../hosts/client/target-of.ts';
import type { Target } from '../../hosts/client/host-client.ts';
import type { Store } from '../../store/store.ts';
import type { Caller } from '../auth/caller.ts';
import { conversationOf } from '../routes/conversation-of.ts';

/** The sandbox of a conversation of the caller. @throws CONVERSATION_NOT_FOUND, SANDBOX_ABSENT */
export async function targetOf(store: Pick<Store, 'conversations' | 'sandboxes'>, caller: Caller, id: string): Promise<Target> {
  const { conversationId, tenantId } = await conversationOf(store, caller, id);
  const row = await store.sandboxes.ofConversation(conversationId);
  if (!row) throw failure('SANDBOX_ABSENT', { conversationId });
  return targetOfRow(row, { conversationId, tenantId });
}
