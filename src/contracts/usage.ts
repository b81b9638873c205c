/** What one model call used. */
export interface Usage {
  /** All of the input, with what the provider read from its cache or wrote to it. */
  inputTokens: number;
  outputTokens: number;
  /** Part of `inputTokens`; absent when the provider did not say. */
  cacheReadTokens?: number;
  /** Part of `inputTokens`; absent when the provider did not say. */
  cacheWriteTokens?: number;
  /** What the provider cleared on its side, where the agent's file asks for it; no part of `inputTokens`. */
  clearedTokens?: number;
  /** US dollars, by the prices at the time of the call. Null: not known. Absent in calls of versions without prices. */
  costUsd?: number | null;
}

/** What several model calls used together. */
export interface UsageTotals {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** US dollars; null when the cost of one of the calls is not known. */
  costUsd: number | null;
  /** US dollars of the calls whose cost is known. */
  knownCostUsd: number;
  /** Calls whose cost is not known. */
  unpricedCalls: number;
}

export const USAGE_GROUPS = ['day', 'agent', 'user', 'conversation', 'model', 'tenant'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageLine extends UsageTotals {
  /** The day (`2027-01-31`, UTC), or the id or name that the calls have in common. */
  key: string;
  /** Of a user or a conversation: two tenants may have users with the same id. */
  tenantId?: string;
}

export interface UsageReport {
  /** The first moment that counts, ISO 8601, UTC. */
  from: string;
  /** The first moment that no longer counts. */
  to: string;
  group: UsageGroup;
  /** In the order of their keys. */
  lines: UsageLine[];
  /** True when there are more lines than the limit. */
  more: boolean;
  /** Of all calls of the period, also those of lines that are left out. */
  total: UsageTotals;
}

/** Decimals of a dollar that are kept: far less than a token costs. */
const DECIMALS = 12;

/** Rounds a sum of dollars, so that no sum differs from its parts by what floating point adds. */
export function roundUsd(amount: number): number {
  return Number(amount.toFixed(DECIMALS));
}

/** The usage of two calls. Its cost is not known when that of one of them is not. */
export function addUsage(first: Usage, second: Usage): Usage {
  const cacheReadTokens = sum(first.cacheReadTokens, second.cacheReadTokens);
  const cacheWriteTokens = sum(first.cacheWriteTokens, second.cacheWriteTokens);
  const clearedTokens = sum(first.clearedTokens, second.clearedTokens);
  const costUsd = first.costUsd === null || second.costUsd === null ? null : sum(first.costUsd, second.costUsd);
  return {
    inputTokens: first.inputTokens + second.inputTokens,
    outputTokens: first.outputTokens + second.outputTokens,
    ...(cacheReadTokens !== undefined && { cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(clearedTokens !== undefined && { clearedTokens }),
    ...(costUsd !== undefined && { costUsd: costUsd === null ? null : roundUsd(costUsd) }),
  };
}

function sum(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined && second === undefined ? undefined : (first ?? 0) + (second ?? 0);
}

/** What all questions of plugins to the model have used so far, in a step or during a call. */
export interface AskedByPlugins {
  asked?: Usage;
  /** What tasks of plugins have used for the conversation, outside of calls and steps, since it began; absent: nothing that is known. */
  askedByTasks?: UsedByTasks;
}

/** The parts of a budget that model calls use; what is absent is not limited. */
export interface ModelShare {
  tokens?: number;
  /** US dollars. */
  costUsd?: number;
}

/** What plugins may use of the budget of a conversation for questions to the model. */
export interface LeftForPlugins {
  /** For those in the step. Absent from earlier versions: they may ask nothing. */
  modelLeft?: ModelShare;
  /** For their tasks in all, with what is counted already. Absent for sub-agents, for which they may ask nothing, and from earlier versions. */
  tasksMayUse?: ModelShare;
}

/** `costUsd`: of the calls whose cost is known. */
export type UsedByTasks = Pick<UsageTotals, 'inputTokens' | 'outputTokens' | 'unpricedCalls'> & { costUsd: number };
