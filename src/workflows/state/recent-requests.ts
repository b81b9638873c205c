import type { JsonObject } from '../../contracts/json.ts';
import type { RecentRequest } from '../../contracts/conversation-run.ts';
import type { ConversationData } from './conversation-data.ts';

/** Number of requests that are kept. One that is repeated when so many others have come after it counts as a new one. */
const MOST = 100;
const LONGEST_ID = 200;

/** What is known of a request with this id, from this run or one before. */
export function knownRequest({ recentRequests = [] }: ConversationData, requestId: unknown): RecentRequest | undefined {
  return recentRequests.find((known) => known.requestId === requestId);
}

/** Keeps that a request has taken effect, with its result if it has one. Anyone who may signal workflows can send anything as an id. */
export function noteRequest(data: ConversationData, requestId: unknown, result?: JsonObject): void {
  if (typeof requestId !== 'string' || requestId === '' || requestId.length > LONGEST_ID || knownRequest(data, requestId)) return;
  data.recentRequests = [...(data.recentRequests ?? []), { requestId, ...(result && { result }) }].slice(-MOST);
}
