import { failure } from '../contracts/errors.ts';
import type { Store } from '../store/store.ts';
import { endOfTurn, replyOf } from './end-of-turn.ts';

/** Waits until the turn ends and returns the last text of the agent in it. Fails with `TURN_FAILED` when the turn did not finish normally. */
export async function awaitReply(store: Store, conversationId: string, options: { turnId: string | undefined; signal: AbortSignal }): Promise<string> {
  const turn = await endOfTurn(store, conversationId, options);
  if (!turn) throw failure('CONVERSATION_CLOSED', { conversationId });
  return replyOf(turn);
}
