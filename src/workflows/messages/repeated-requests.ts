import { currentUpdateInfo, patched } from '@temporalio/workflow';
import type { JsonObject } from '../../contracts/json.ts';
import type { ConversationData } from '../state/conversation-data.ts';
import { knownRequest, noteRequest } from '../state/recent-requests.ts';
import { signalArgs } from './validate-updates.ts';

/** Patch id. Before it, a request that was repeated in a later run of its workflow took effect again: Temporal compares ids within one run only. */
const REQUESTS_ONCE = 'requests-once';

/** Whether a signal has taken effect before, in this run or an earlier one. Otherwise it is known from now on. */
export function isRepeatedSignal(data: ConversationData, args: object | undefined): boolean {
  const { requestId }: { requestId?: unknown } = signalArgs(args);
  if (requestId !== undefined && knownRequest(data, requestId)) return patched(REQUESTS_ONCE);
  noteRequest(data, requestId);
  return false;
}

/** Whether the update that is being validated has been answered before, so that it is accepted as it is. */
export function isRepeatedUpdate(data: ConversationData): boolean {
  return knownRequest(data, currentUpdateInfo()?.id) !== undefined;
}

/** What the update that is being handled was answered, if it has been before. */
export function answerBefore(data: ConversationData): JsonObject | undefined {
  const known = knownRequest(data, currentUpdateInfo()?.id);
  return known?.result && patched(REQUESTS_ONCE) ? known.result : undefined;
}

/** Keeps the answer of the update that is being handled. Not asynchronous, since that would change the order of what follows in recorded histories. */
export function answered<Result extends object>(data: ConversationData, result: Result): Result {
  noteRequest(data, currentUpdateInfo()?.id, result as JsonObject);
  return result;
}
