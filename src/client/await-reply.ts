import { failure } from '../contracts/errors.ts';
import type { EventOf } from '../contracts/events.ts';
import type { StoredEntry } from '../contracts/transcript.ts';
import type { Store } from '../store/store.ts';
import { readEvents } from './read-events.ts';

interface ReplyOptions {
  /** When absent, the newest turn. If the conversation has no turn yet, the first one that ends. */
  turnId: string | undefined;
  signal: AbortSignal;
}

/** Waits until the turn ends and returns the last text of the agent in it. Fails with `TURN_FAILED` when the turn did not finish normally. */
export async function awaitReply(store: Store, conversationId: string, options: ReplyOptions): Promise<string> {
  const turnId = options.turnId ?? (await newestTurn(store, conversationId));
  const afterSeq = turnId === undefined ? 0 : await store.events.turnStart(conversationId, turnId);
  for await (const event of readEvents(store, conversationId, { afterSeq, signal: options.signal })) {
    if (event.type !== 'turn.finished' || (turnId !== undefined && event.turnId !== turnId)) continue;
    refuseFailure(event);
    return lastWords(await store.transcript.read(conversationId), event.turnId);
  }
  throw failure('CONVERSATION_CLOSED', { conversationId });
}

async function newestTurn(store: Store, conversationId: string): Promise<string | undefined> {
  const row = await store.conversations.get(conversationId);
  if (row?.status.turnId !== undefined) return row.status.turnId;
  const entries = await store.transcript.read(conversationId);
  return entries.at(-1)?.turnId;
}

function refuseFailure(event: EventOf<'turn.finished'>): void {
  const { outcome, message } = event.data;
  if (outcome === 'finished') return;
  throw failure('TURN_FAILED', { turnId: event.turnId ?? '', outcome, problem: message ?? 'no reason was given' });
}

/** The last text of the agent in the turn; empty when the agent wrote none. */
export function lastWords(transcript: StoredEntry[], turnId: string | undefined): string {
  for (const { turnId: of, entry } of transcript.toReversed()) {
    if (of !== turnId || entry.role !== 'assistant') continue;
    const text = entry.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
    if (text !== '') return text;
  }
  return '';
}
