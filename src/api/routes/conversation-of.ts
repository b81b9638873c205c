import { failure } from '../../contracts/errors.ts';
import type { ConversationRow, Store } from '../../store/store.ts';
import { mayReach, type Caller } from '../auth/caller.ts';

/** Why a command to a conversation may be refused, whatever it says. */
export const COMMAND_ERRORS = ['CONVERSATION_NOT_FOUND', 'CONVERSATION_CLOSED', 'CONVERSATION_UNSTARTED'] as const;

/** The conversation, if it is one of the caller's. @throws CONVERSATION_NOT_FOUND for those of another tenant or user too */
export async function conversationOf(store: Pick<Store, 'conversations'>, caller: Caller, conversationId: string): Promise<ConversationRow> {
  const row = await store.conversations.get(conversationId);
  if (row && mayReach(caller, row)) return row;
  throw failure('CONVERSATION_NOT_FOUND', { conversationId });
}
