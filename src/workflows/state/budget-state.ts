import type { BudgetKind } from '../../contracts/conversation.ts';
import { roundUsd, type Usage } from '../../contracts/usage.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { Share, Spent } from '../../contracts/sub-agent.ts';
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
  const aside = putAside(data);
  const parts: [BudgetKind, number | undefined, number, number][] = [
    ['turns', turns, data.extraTurns, data.turnsUsed],
    ['steps', data.turn && steps, data.turn?.extraSteps ?? 0, data.turn?.steps ?? 0],
    ['tokens', tokens, data.extraTokens, data.tokensUsed + aside.tokens],
    ['wallTime', wallTimeMs, data.extraWallTimeMs, workedMs(data, nowMs) + aside.wallTimeMs],
    ['storage', storageMb, data.extraStorageMb ?? 0, data.storedBytes === undefined ? 0 : Math.floor(data.storedBytes / MEBIBYTE)],
    ['cost', costUsd, data.extraCostUsd ?? 0, costCounted(data) + aside.costUsd],
  ];
  const left = parts.flatMap(([kind, limit, extra, used]) => (limit === undefined ? [] : [leftOf(kind, limit + extra, used)]));
  const ofTask = stepsOfTask(data);
  if (!ofTask) return left;
  // Of the two bounds on steps, the nearer one is told.
  return left.some((part) => part.kind === 'steps' && part.left <= ofTask.left) ? left : [ofTask, ...left.filter(({ kind }) => kind !== 'steps')];
}

/** What is left of the steps of a task, which all turns of a sub-agent share with its own sub-agents. */
function stepsOfTask(data: ConversationData): ReturnType<typeof leftOf> | undefined {
  const { taskSteps } = data.limits;
  return taskSteps === undefined ? undefined : leftOf('steps', taskSteps, data.stepsTaken + putAside(data).steps);
}

/** The parts of the budget of which a sub-agent may be given some; absent without a limit. */
export function sharedParts(data: ConversationData, nowMs: number): { [Kind in keyof Share]: { limit: number; left: number } } {
  const parts = new Map(budgetLeft(data, nowMs).map((part) => [part.kind, part]));
  // The steps of a turn cannot be given to somebody who works beyond it; those of a task can.
  const steps = stepsOfTask(data);
  return withoutUndefined({ tokens: parts.get('tokens'), wallTimeMs: parts.get('wallTime'), costUsd: parts.get('cost'), steps });
}

/** What the conversation has used, with its sub-agents that have ended. */
export function spentBy(data: ConversationData, nowMs: number): Spent {
  const { tokensUsed: tokens, stepsTaken: steps, costUsd = 0, unknownCost } = data;
  return { tokens, steps, workedMs: workedMs(data, nowMs), costUsd, ...(unknownCost && { unknownCost }) };
}

/** What is put aside for the sub-agents that work. */
function putAside({ subAgents }: ConversationData): Required<Share> {
  const sum = (kind: keyof Share) => subAgents.reduce((total, { share }) => total + (share?.[kind] ?? 0), 0);
  return { tokens: sum('tokens'), wallTimeMs: sum('wallTimeMs'), costUsd: sum('costUsd'), steps: sum('steps') };
}

function leftOf(kind: BudgetKind, limit: number, used: number): { kind: BudgetKind; limit: number; left: number } {
  // Dollars are no whole numbers; without the rounding, a sum could differ from the limit that it has reached.
  return kind === 'cost' ? { kind, limit: roundUsd(limit), left: roundUsd(Math.max(0, limit - used)) } : { kind, limit, left: limit - used };
}

/** Adds the cost of a model call. Calls of versions without prices have none. */
export function countCost(data: ConversationData, { costUsd }: Usage): void {
  if (typeof costUsd === 'number' && costUsd !== 0) data.costUsd = roundUsd((data.costUsd ?? 0) + costUsd);
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
