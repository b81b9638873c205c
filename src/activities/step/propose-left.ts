import type { Store } from '../../store/store.ts';
import type { ToolCallRow } from '../../store/tool-call-rows.ts';
import { describeStep } from './store-answer.ts';

type Place = Pick<ToolCallRow, 'conversationId' | 'turnId' | 'stepId'>;

const NEVER_JUDGED = { decision: 'invalid', why: 'its turn ended before this call could run' } as const;

/**
 * Proposes the calls of a step's answer that were not proposed when it was stored, because the worker died or the turn was ended, so that each can get its result.
 * Returns the calls of the step that are not begun.
 */
export async function proposeLeft(
  store: Pick<Store, 'transcript' | 'toolCalls' | 'events'>,
  place: Place,
): Promise<(Place & Pick<ToolCallRow, 'callId' | 'tool'>)[]> {
  const answer = await store.transcript.answerOf(place.conversationId, place.stepId);
  const calls = answer?.parts.filter((part) => part.type === 'tool-call') ?? [];
  if (!answer || calls.length === 0) return [];
  const states = new Map((await store.toolCalls.ofStep(place.conversationId, place.stepId)).map(({ callId, state }) => [callId, state]));
  const left = calls.filter(({ callId }) => (states.get(callId) ?? 'proposed') === 'proposed');
  if (left.length === 0) return [];
  await store.toolCalls.propose(calls.map(({ callId, tool, arguments: given }) => ({ ...place, callId, tool, arguments: given, hash: '' })));
  const requested = left.map((call) => ({ ...call, ...NEVER_JUDGED }));
  await store.events.append(place.conversationId, describeStep(place, answer, requested));
  return left.map(({ callId, tool }) => ({ ...place, callId, tool }));
}
