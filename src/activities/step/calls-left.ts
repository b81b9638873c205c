import type { NewEvent, Store } from '../../store/store.ts';
import type { ToolCallRow } from '../../store/tool-call-rows.ts';
import { shownArguments } from '../../tool-calls/results/shown-arguments.ts';
import { stepFinished, type CallPart } from './store-answer.ts';

type Place = Pick<ToolCallRow, 'conversationId' | 'turnId' | 'stepId'>;

const NOT_JUDGED = 'the turn ended before this call was judged';

/**
 * The calls of a step that are not begun. The answer of a model counts as soon as it is stored: those of its calls that were not proposed then, because the worker
 * died or the turn was ended, are proposed here, so that each can get its result.
 */
export async function callsLeft(
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
  await store.events.append(place.conversationId, [stepFinished(place, answer.usage), ...left.map((call) => requested(place, call))]);
  return left.map(({ callId, tool }) => ({ ...place, callId, tool }));
}

function requested({ turnId, stepId }: Place, { callId, tool, arguments: given }: CallPart): NewEvent {
  const data = { callId, tool, ...shownArguments(given), decision: 'invalid', why: NOT_JUDGED };
  return { type: 'tool.requested', turnId, stepId, data, key: `tool.requested/${callId}` };
}
