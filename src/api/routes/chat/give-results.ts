import { isFailure, type ErrorCode } from '../../../contracts/errors.ts';
import type { ResultOptions } from '../../../client/client-tools/client-tool-types.ts';
import type { Longshore } from '../../../client/types.ts';

/** Something else has become of the call: what follows says so. */
const OVERTAKEN: ErrorCode[] = ['CLIENT_CALL_NOT_FOUND', 'CLIENT_CALL_ENDED', 'CLIENT_CALL_TAKEN', 'CLIENT_RESULT_DIFFERENT'];
const REFUSED: ErrorCode[] = ['CLIENT_RESULT_INVALID', 'CLIENT_RESULT_TOO_LARGE', 'INVALID_ARGUMENT'];

/** Gives the results of those calls that wait. The model is told of a result that cannot be taken, as of one that failed. */
export async function giveResults(longshore: Longshore, conversationId: string, results: readonly ResultOptions[]): Promise<void> {
  if (results.length === 0) return;
  const { calls } = await longshore.waitingCalls(conversationId);
  const waiting = new Set(calls.map(({ callId }) => callId));
  for (const result of results) if (waiting.has(result.callId)) await give(longshore, conversationId, result);
}

async function give(longshore: Longshore, conversationId: string, result: ResultOptions): Promise<void> {
  try {
    await longshore.giveResult(conversationId, result);
  } catch (error) {
    if (!isFailure(error)) throw error;
    if (REFUSED.includes(error.code) && !result.isError) await give(longshore, conversationId, { ...result, result: error.message, isError: true });
    else if (!OVERTAKEN.includes(error.code)) throw error;
  }
}
