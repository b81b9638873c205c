import type { BudgetKind } from '../../contracts/conversation.ts';
import { roundUsd, type Usage } from '../../contracts/usage.ts';
import type { ConversationData } from './conversation-data.ts';

const MEBIBYTE = 1024 * 1024;

/** Work begins, or continues after a rest. */
export function startWork(data: ConversationData, nowMs: number): void {
  data.workingSinceMs ??= nowMs;
}
/** Work ends, or is suspended: the time that follows does not count as work. */
export function stopWork(data: ConversationData, nowMs: number): void {
  data.workedMs = workedMs(data, nowMs);
  delete data.workingSinceMs;
}
/** Time of work so far, including the work under way. */
export function workedMs(data: ConversationData, nowMs: number): number {
  return data.workedMs + (data.workingSinceMs === undefined ? 0 : Math.max(0, nowMs - data.workingSinceMs));
}

/** What is left of each limited part of the budget; during a turn, also of its steps. */
export function budgetLeft(data: ConversationData, nowMs: number): { kind: BudgetKind; limit: number; left: number }[] {
  const { turns, steps, tokens, wallTimeMs, storageMb, costUsd } = data.limits.budget;
  const parts: [BudgetKind, number | undefined, number, number][] = [
    ['turns', turns, data.extraTurns, data.turnsUsed],
    ['steps', data.turn && steps, data.turn?.extraSteps ?? 0, data.turn?.steps ?? 0],
    ['tokens', tokens, data.extraTokens, data.tokensUsed],
    ['wallTime', wallTimeMs, data.extraWallTimeMs, workedMs(data, nowMs)],
    ['storage', storageMb, data.extraStorageMb ?? 0, data.storedBytes === undefined ? 0 : Math.floor(data.storedBytes / MEBIBYTE)],
    ['cost', costUsd, data.extraCostUsd ?? 0, costCounted(data)],
  ];
  return parts.flatMap(([kind, limit, extra, used]) => (limit === undefined ? [] : [leftOf(kind, limit + extra, used)]));
}

function leftOf(kind: BudgetKind, limit: number, used: number): { kind: BudgetKind; limit: number; left: number } {
  // Dollars are no whole numbers; without the rounding, a sum could differ from the limit that it has reached.
  return kind === 'cost' ? { kind, limit: roundUsd(limit), left: roundUsd(Math.max(0, limit - used)) } : { kind, limit, left: limit - used };
}

/** Adds the cost of a model call. Calls of versions without prices have none. */
export function countCost(data: ConversationData, { costUsd }: Usage): void {
  if (typeof costUsd === 'number' && costUsd > 0) data.costUsd = roundUsd((data.costUsd ?? 0) + costUsd);
  if (costUsd === null && data.limits.budget.costUsd !== undefined) data.unknownCost = true;
}

/** A call whose cost is not known uses up the budget of cost, until an operator grants more. */
function costCounted({ costUsd = 0, unknownCost }: ConversationData): number {
  return unknownCost ? Infinity : costUsd;
}

/** Adds what an operator grants to the budget of cost. */
export function grantCost(data: ConversationData, extraUsd: number): void {
  if (extraUsd <= 0) return;
  data.extraCostUsd = roundUsd((data.extraCostUsd ?? 0) + extraUsd);
  delete data.unknownCost;
}

/** Bytes that the conversation may store; undefined for a conversation that was started by a version without this limit. */
export function storageLimit({ limits, extraStorageMb = 0 }: ConversationData): number | undefined {
  const { storageMb } = limits.budget;
  return storageMb === undefined ? undefined : (storageMb + extraStorageMb) * MEBIBYTE;
}

/** The part of the budget that forbids the next turn or, during a turn, the next step. */
export function exhaustedBudget(data: ConversationData, nowMs: number): { exhausted: BudgetKind; limit: number } | undefined {
  // A running turn was counted when it started.
  const spent = budgetLeft(data, nowMs).find(({ kind, left }) => left <= 0 && !(kind === 'turns' && data.turn));
  return spent && { exhausted: spent.kind, limit: spent.limit };
}

/** Pauses because a part of the budget is used up. */
export function pauseForBudget(data: ConversationData, spent: { exhausted: BudgetKind; limit: number }): void {
  data.outbox.push({ type: 'budget.exhausted', ...(data.turn && { turnId: data.turn.turnId }), data: { ...spent } });
  data.pauseWish = { reason: { by: 'budget', ...spent }, mode: 'step' };
}
