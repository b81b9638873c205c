import * as fc from 'fast-check';
import { planLines, shownPlan } from '../../src/common/plan-text.ts';
import { MAX_PLAN_ITEMS, MAX_PLAN_TEXT, PLAN_STATUSES, type PlanItem } from '../../src/contracts/plan/plan.ts';

const item = fc.record({ text: fc.string({ unit: 'binary', minLength: 1, maxLength: MAX_PLAN_TEXT }), status: fc.constantFrom(...PLAN_STATUSES) });

test('what the workflow keeps of any plan is small, in its order, and says how much there is', () => {
  const arbitrary = fc.array(item, { maxLength: MAX_PLAN_ITEMS });
  fc.assert(
    fc.property(arbitrary, (plan: PlanItem[]) => {
      const shown = shownPlan(plan);
      expect(Buffer.byteLength(JSON.stringify(shown.items))).toBeLessThanOrEqual(2_000);
      expect(shown).toMatchObject({ total: plan.length, done: plan.filter(({ status }) => status === 'done').length });
      for (const hidden of ['\n', '\u001B', '\u202E']) expect(planLines(plan).join('')).not.toContain(hidden);
    }),
  );
});

test('what is done is left out first', () => {
  const plan = Array.from(
    { length: MAX_PLAN_ITEMS },
    (_, index) => ({ text: `Step ${index} ${'x'.repeat(60)}`, status: index < 35 ? 'done' : 'pending' }) as const,
  );
  const shown = shownPlan([...plan]);
  expect(shown.items.filter(({ status }) => status === 'pending')).toHaveLength(15);
  expect(shown.items[0]?.text).not.toMatch(/^Step 0 /);
});
