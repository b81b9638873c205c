/** The tool with which an agent replaces its plan. */
export const PLAN_TOOL = 'plan:write';

export const MAX_PLAN_ITEMS = 50;
/** Longest text of an item, in characters. */
export const MAX_PLAN_TEXT = 250;

export const PLAN_STATUSES = ['pending', 'in_progress', 'done'] as const;
export type PlanStatus = (typeof PLAN_STATUSES)[number];

/** One step of what an agent is about to do. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type PlanItem = { text: string; status: PlanStatus };

/** A plan as the workflow knows it: it goes through the history, so it is small. */
export interface ShownPlan {
  items: PlanItem[];
  /** Items of the whole plan, and how many of them are done. */
  total: number;
  done: number;
}

export function countDone(plan: readonly PlanItem[]): number {
  return plan.filter(({ status }) => status === 'done').length;
}
