import { countDone, type PlanItem, type PlanStatus, type ShownPlan } from '../contracts/plan/plan.ts';
import { cutMiddle, visibleLine } from '../contracts/visible-text.ts';

export const PLAN_MARKS: Readonly<Record<PlanStatus, string>> = { pending: '○', in_progress: '▸', done: '✓' };

const SHOWN_TEXT = 80;
const MAX_SHOWN_BYTES = 2_000;

/** The part of a plan that fits into `MAX_SHOWN_BYTES`: what is done is left out first, the oldest first, then the end. */
export function shownPlan(plan: readonly PlanItem[]): ShownPlan {
  const items = plan.map(({ text, status }) => ({ text: cutMiddle(visibleLine(text), SHOWN_TEXT), status }));
  while (new TextEncoder().encode(JSON.stringify(items)).length > MAX_SHOWN_BYTES) {
    const done = items.findIndex(({ status }) => status === 'done');
    items.splice(done === -1 ? items.length - 1 : done, 1);
  }
  return { items, total: plan.length, done: countDone(plan) };
}

/** A plan in one line each, for people. */
export function planLines(plan: readonly PlanItem[]): string[] {
  return plan.map(({ text, status }) => `${PLAN_MARKS[status]} ${visibleLine(text)}`);
}
