import type { ConversationData } from './conversation-data.ts';
import { hasWork } from './conversation-state.ts';

/** Why the conversation cannot be rewound now. */
export function obstacleToRewind(data: ConversationData): string | undefined {
  if (data.awaitsFiles) return 'it is a fork that has not got its files yet';
  if (data.rewinding) return 'another rewind is under way';
  if (data.turn) return `turn ${data.turn.turnId} runs; wait for its end, or interrupt it`;
  if (hasWork(data)) return 'messages wait for their turns; wait for the answers, or cancel them';
  if (data.subAgents.length > 0) return 'sub-agents work for it';
  return undefined;
}
