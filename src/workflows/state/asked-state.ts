import { withoutUndefined } from '../../common/without-undefined.ts';
import type { ExecuteToolArgs } from '../../contracts/activities.ts';
import { roundUsd, type Usage } from '../../contracts/usage.ts';
import { countCost, sharedParts } from './budget-state.ts';
import type { ConversationData } from './conversation-data.ts';

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0 };

/** What questions of a call to the model may use in all, with those that are counted already. */
export function modelLeft(data: ConversationData, callId: string, nowMs: number): NonNullable<ExecuteToolArgs['modelLeft']> {
  const { tokens, costUsd } = sharedParts(data, nowMs);
  const counted = countedOf(data, callId);
  return withoutUndefined({
    tokens: tokens && tokens.left + counted.inputTokens + counted.outputTokens,
    costUsd: costUsd && roundUsd(costUsd.left + (counted.costUsd ?? 0)),
  });
}

/**
 * Counts what the questions of a call or step to the model have used so far; absent: it has asked none. A call that is attached to several times tells all of it each
 * time.
 */
export function countAsked(data: ConversationData, callId: string, asked: Usage | undefined): void {
  if (!asked) return;
  const counted = countedOf(data, callId);
  data.tokensUsed += asked.inputTokens + asked.outputTokens - counted.inputTokens - counted.outputTokens;
  countCost(data, { ...asked, ...(typeof asked.costUsd === 'number' && { costUsd: asked.costUsd - (counted.costUsd ?? 0) }) });
  if (data.turn) data.turn.asked = { ...data.turn.asked, [callId]: asked };
}

function countedOf({ turn }: ConversationData, callId: string): Usage {
  return turn?.asked?.[callId] ?? NOTHING;
}
