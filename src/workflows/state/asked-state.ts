import { withoutUndefined } from '../../common/without-undefined.ts';
import { roundUsd, type LeftForPlugins, type ModelShare, type Usage, type UsedByTasks } from '../../contracts/usage.ts';
import { countCost, sharedParts } from './budget-state.ts';
import type { ConversationData } from './conversation-data.ts';

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0 };

/** What questions of a call to the model may use in all, with those that are counted already. */
export function modelLeft(data: ConversationData, callId: string, nowMs: number): ModelShare {
  return leftWith(data, countedOf(data, callId), nowMs);
}

/** What questions of tasks to the model may use in all, with those that are counted already. For a sub-agent they ask none: what it has used is reported at its end, and they go on. */
export function tasksMayUse(data: ConversationData, nowMs: number): Pick<LeftForPlugins, 'tasksMayUse'> {
  return data.parent ? {} : { tasksMayUse: leftWith(data, data.askedByTasks ?? NOTHING, nowMs) };
}

function leftWith(data: ConversationData, counted: Usage, nowMs: number): ModelShare {
  const { tokens, costUsd } = sharedParts(data, nowMs);
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
  countTokens(data, asked, counted);
  // An operator may have granted more since an unknown cost was told: it counts again only with another question.
  const isKnown = asked.costUsd === null && counted.costUsd === null && tokensOf(asked) === tokensOf(counted);
  if (!isKnown) countCost(data, { ...asked, ...(typeof asked.costUsd === 'number' && { costUsd: asked.costUsd - (counted.costUsd ?? 0) }) });
  if (data.turn) data.turn.asked = { ...data.turn.asked, [callId]: asked };
}

/** Counts what tasks have used since the conversation began. It may have become less: a question counts as the most that it may use until it is answered. */
export function countTasks(data: ConversationData, asked: UsedByTasks | undefined): void {
  if (!asked) return;
  const counted = data.askedByTasks ?? { ...NOTHING, costUsd: 0, unpricedCalls: 0 };
  countTokens(data, asked, counted);
  const isUnpriced = asked.unpricedCalls > counted.unpricedCalls;
  countCost(data, { ...NOTHING, costUsd: asked.costUsd - counted.costUsd });
  if (isUnpriced) countCost(data, { ...NOTHING, costUsd: null });
  data.askedByTasks = asked;
}

type Tokens = Pick<Usage, 'inputTokens' | 'outputTokens'>;

function countTokens(data: ConversationData, asked: Tokens, counted: Tokens): void {
  data.tokensUsed += tokensOf(asked) - tokensOf(counted);
}

function tokensOf({ inputTokens, outputTokens }: Tokens): number {
  return inputTokens + outputTokens;
}

function countedOf({ turn }: ConversationData, callId: string): Usage {
  return turn?.asked?.[callId] ?? NOTHING;
}
