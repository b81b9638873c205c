import { abortAfter } from '../common/abort-after.ts';
import { failure } from '../contracts/errors.ts';
import { timeOfId } from '../contracts/ids.ts';
import type { Json } from '../contracts/json.ts';
import { parseAnswer } from '../contracts/output.ts';
import type { TurnOutcome } from '../contracts/conversation.ts';
import { saidIn, type CutOff, type StoredEntry } from '../contracts/transcript.ts';
import type { EventData, EventOf } from '../contracts/events.ts';
import type { Store } from '../store/store.ts';
import { readEvents, readStored } from './events/read-events.ts';

export interface EndedTurn {
  turnId: string;
  outcome: TurnOutcome;
  /** Why it did not finish normally. */
  message?: string;
  /** The agent's last text in it; empty when the agent wrote none. */
  reply: string;
  /** The provider ended the last answer before the model had: the reply is not whole. */
  cutOff?: CutOff;
  /** The answer as a JSON value, when it had to fit a schema. */
  output?: Json;
}

interface TurnOptions {
  /** When absent, the newest turn. If the conversation has no turn yet, the first one that ends. */
  turnId: string | undefined;
  /** Ends the waiting. Without it there is none: only a turn that has ended is found. */
  signal: AbortSignal | undefined;
}

/** A message that an operator has typed is in no table before its turn begins, which may be late where no worker is free. Milliseconds. */
const MAY_BEGIN_MS = 3_600_000;

/**
 * Waits until the turn ends. Undefined when `signal` aborts before.
 * @throws CONVERSATION_CLOSED when the turn waited for can no longer end, TURN_NOT_FOUND when there is none and none can come
 */
export async function endOfTurn(store: Store, conversationId: string, options: TurnOptions): Promise<EndedTurn | undefined> {
  const turnId = options.turnId ?? (await newestTurn(store, conversationId));
  const { signal } = options;
  for (;;) {
    const { afterSeq, leftMs } = await placeOf(store, conversationId, turnId);
    const waits = signal && (leftMs === undefined ? signal : abortAfter(leftMs, signal));
    const end = await findEnd(store, { conversationId, turnId, afterSeq, signal: waits });
    if (end) return endedTurn(store, end);
    if (!signal || signal.aborted) return undefined;
    if (waits?.aborted !== true) throw failure('CONVERSATION_CLOSED', { conversationId });
  }
}

interface Sought {
  conversationId: string;
  turnId: string | undefined;
  afterSeq: number;
  signal: AbortSignal | undefined;
}

async function findEnd(store: Store, { conversationId, turnId, afterSeq, signal }: Sought): Promise<EventOf<'turn.finished'> | undefined> {
  for await (const event of signal ? readEvents(store, conversationId, { afterSeq, signal }) : readStored(store, conversationId, afterSeq)) {
    if (event.type !== 'turn.finished') continue;
    if (turnId === undefined || event.turnId === turnId) return event;
    await placeOf(store, conversationId, turnId);
  }
  return undefined;
}

/** Where to read on for the end of the turn. `leftMs`: nothing is known of it, but it is so new that it may begin within this time. @throws TURN_NOT_FOUND */
async function placeOf({ events }: Store, conversationId: string, turnId: string | undefined): Promise<{ afterSeq: number; leftMs?: number }> {
  if (turnId === undefined) return { afterSeq: 0 };
  const known = await events.beforeEnd(conversationId, turnId);
  if (known !== undefined) return { afterSeq: known };
  const leftMs = (timeOfId('turn', turnId) ?? 0) + MAY_BEGIN_MS - Date.now();
  if (leftMs <= 0) throw failure('TURN_NOT_FOUND', { conversationId, turnId });
  return { afterSeq: 0, leftMs: Math.min(leftMs, MAY_BEGIN_MS) };
}

async function endedTurn({ transcript }: Store, { conversationId, turnId = '', data }: EventOf<'turn.finished'>): Promise<EndedTurn> {
  const { outcome, message } = data;
  const { text: reply, cutOff } = await transcript.lastSaid(conversationId, turnId);
  return { turnId, outcome, ...(message !== undefined && { message }), reply, ...(cutOff && { cutOff }), ...outputIn(data, reply) };
}

/** The same, for a wait that ends with the client, whose `signal` aborts then. @throws CLIENT_CLOSED */
export async function awaitTurn(store: Store, conversationId: string, options: { turnId: string | undefined; signal: AbortSignal }): Promise<EndedTurn> {
  if (options.signal.aborted) throw failure('CLIENT_CLOSED', {});
  const turn = await endOfTurn(store, conversationId, options);
  if (!turn) throw failure('CLIENT_CLOSED', {});
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

/** The last text of the agent in the turn; empty when the agent wrote none. */
export function lastWords(transcript: StoredEntry[], turnId: string | undefined): string {
  for (const { turnId: of, entry } of transcript.toReversed()) {
    if (of !== turnId || entry.role !== 'assistant') continue;
    const text = saidIn(entry);
    if (text !== '') return text;
  }
  return '';
}
