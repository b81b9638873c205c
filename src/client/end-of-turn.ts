import { failure } from '../contracts/errors.ts';
import type { Json } from '../contracts/json.ts';
import { parseAnswer } from '../contracts/output.ts';
import type { TurnOutcome } from '../contracts/conversation.ts';
import { saidIn, type StoredEntry } from '../contracts/transcript.ts';
import type { EventData } from '../contracts/events.ts';
import type { Store } from '../store/store.ts';
import { readEvents, readStored } from './events/read-events.ts';

export interface EndedTurn {
  turnId: string;
  outcome: TurnOutcome;
  /** Why it did not finish normally. */
  message?: string;
  /** The agent's last text in it; empty when the agent wrote none. */
  reply: string;
  /** The answer as a JSON value, when it had to fit a schema. */
  output?: Json;
}

interface TurnOptions {
  /** When absent, the newest turn. If the conversation has no turn yet, the first one that ends. */
  turnId: string | undefined;
  /** Ends the waiting. Without it there is none: only a turn that has ended is found. */
  signal: AbortSignal | undefined;
}

/** Waits until the turn ends. Undefined when `signal` aborts before. @throws CONVERSATION_CLOSED when the turn waited for can no longer end */
export async function endOfTurn(store: Store, conversationId: string, options: TurnOptions): Promise<EndedTurn | undefined> {
  const turnId = options.turnId ?? (await newestTurn(store, conversationId));
  const afterSeq = turnId === undefined ? 0 : await store.events.beforeEnd(conversationId, turnId);
  const { signal } = options;
  for await (const event of signal ? readEvents(store, conversationId, { afterSeq, signal }) : readStored(store, conversationId, afterSeq)) {
    if (event.type !== 'turn.finished' || (turnId !== undefined && event.turnId !== turnId)) continue;
    const { outcome, message, ...data } = event.data;
    const reply = await saidInTurn(store, conversationId, event.turnId);
    return { turnId: event.turnId ?? '', outcome, ...(message !== undefined && { message }), reply, ...outputIn(data, reply) };
  }
  if (signal?.aborted !== false) return undefined;
  throw failure('CONVERSATION_CLOSED', { conversationId });
}

/** The same, for a wait without an end. @throws CONVERSATION_CLOSED also when `signal` aborts before */
export async function awaitTurn(store: Store, conversationId: string, options: { turnId: string | undefined; signal: AbortSignal }): Promise<EndedTurn> {
  const turn = await endOfTurn(store, conversationId, options);
  if (!turn) throw failure('CONVERSATION_CLOSED', { conversationId });
  return turn;
}

/** A value that is too large for the event is in the text of the answer, which was checked when it came. */
export function outputIn({ output, outputCharacters }: Pick<EventData['turn.finished'], 'output' | 'outputCharacters'>, reply: string): { output?: Json } {
  if (outputCharacters === undefined) return output === undefined ? {} : { output };
  const parsed = parseAnswer(reply);
  return 'value' in parsed ? { output: parsed.value } : {};
}

/** The agent's last text in a turn that finished. @throws TURN_FAILED for any other */
export function replyOf({ turnId, outcome, message, reply }: EndedTurn): string {
  if (outcome === 'finished') return reply;
  throw failure('TURN_FAILED', { turnId, outcome, problem: message ?? 'no reason was given' });
}

async function newestTurn(store: Store, conversationId: string): Promise<string | undefined> {
  const row = await store.conversations.get(conversationId);
  if (row?.status.turnId !== undefined) return row.status.turnId;
  const turnId = (await store.transcript.last(conversationId))?.turnId;
  const hasEarlierTurns = row?.status.forkedFrom !== undefined || row?.status.importedFrom !== undefined;
  // Turns of another conversation do not end in this log.
  const isInherited = turnId !== undefined && hasEarlierTurns && (await store.events.turnStart(conversationId, turnId)) === 0;
  return isInherited ? undefined : turnId;
}

/** The last text of the agent in a turn that is stored; empty when the agent wrote none. */
async function saidInTurn({ transcript }: Store, conversationId: string, turnId = ''): Promise<string> {
  return (await transcript.lastSaid(conversationId, turnId)) ?? '';
}

/** The last text of the agent in the turn; empty when the agent wrote none. */
export function lastWords(transcript: StoredEntry[], turnId: string | undefined): string {
  for (const { turnId: of, entry } of transcript.toReversed()) {
    if (of !== turnId || entry.role !== 'assistant') continue;
    const text = saidIn(entry);
    if (text !== '') return text;
  }
  return '';
}
