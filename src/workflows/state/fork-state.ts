import type { ForkedSignal } from '../../contracts/forks/fork.ts';
import type { ConversationData } from './conversation-data.ts';

/** The forks whose names are kept to be shown. */
export const SHOWN_FORKS = 4;
/** An id as clients may choose it. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Takes note of a fork. A signal may come twice, and anyone who may signal workflows can send anything. */
export function takeFork(data: ConversationData, { conversationId, forks = 1 }: Partial<ForkedSignal>): void {
  if (typeof conversationId !== 'string' || !ID.test(conversationId) || !Number.isSafeInteger(forks)) return;
  const { newest, total } = data.forks ?? { newest: [], total: 0 };
  const known = newest.includes(conversationId) ? newest : [conversationId, ...newest].slice(0, SHOWN_FORKS);
  data.forks = { newest: known, total: Math.max(known.length, total, forks) };
}
