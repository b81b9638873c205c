import type { ConversationInput } from '../../../src/contracts/conversation-run.ts';
import { budgetLeft, exhaustedBudget, pauseForBudget } from '../../../src/workflows/state/budget-state.ts';
import { carryConversation, countStep, finishTurn, openConversation, startTurn } from '../../../src/workflows/state/conversation-state.ts';
import { statusOf } from '../../../src/workflows/state/conversation-status.ts';
import { enterPause, resumeConversation, wishPause } from '../../../src/workflows/state/pause-state.ts';
import { input } from './conversation-input.ts';

const spend = (budget: ConversationInput['limits']['budget']) =>
  openConversation({ ...input, limits: { ...input.limits, budget }, firstMessage: { messageId: 'a', turnId: 'turn_a' } });

test('the last turn may still work; the next one may not start', () => {
  const data = spend({ turns: 1 });
  startTurn(data, 0);
  expect(exhaustedBudget(data, 0)).toBeUndefined();
  finishTurn(data, 0, () => 'x');
  expect(exhaustedBudget(data, 0)).toEqual({ exhausted: 'turns', limit: 1 });
  resumeConversation(data, { extraTurns: 2 });
  expect(exhaustedBudget(data, 0)).toBeUndefined();
});

test('only time at work counts', () => {
  const data = spend({ wallTimeMs: 100 });
  startTurn(data, 0);
  wishPause(data, {});
  enterPause(data, 60);
  expect(statusOf(data, 5_000).workedMs).toBe(60);
  expect(exhaustedBudget(data, 5_000)).toBeUndefined();
});

test('resuming after the steps ran out grants as many again', () => {
  const data = spend({ steps: 2 });
  const turn = startTurn(data, 0);
  turn!.steps = 2;
  pauseForBudget(data, exhaustedBudget(data, 0)!);
  enterPause(data, 0);
  resumeConversation(data, {});
  expect(exhaustedBudget(data, 0)).toBeUndefined();
  turn!.steps = 4;
  expect(exhaustedBudget(data, 0)).toEqual({ exhausted: 'steps', limit: 4 });
});

const cost = (costUsd: number | null) => ({ inputTokens: 1, outputTokens: 1, costUsd });

test('the cost of steps ends like the other budgets, to the cent, and a grant adds to it', () => {
  const data = spend({ costUsd: 0.3 });
  for (const costUsd of [0.1, 0.1]) countStep(data, cost(costUsd));
  expect(exhaustedBudget(data, 0)).toBeUndefined();
  expect(budgetLeft(data, 0)).toEqual([{ kind: 'cost', limit: 0.3, left: 0.1 }]);
  countStep(data, cost(0.1));
  expect(exhaustedBudget(data, 0)).toEqual({ exhausted: 'cost', limit: 0.3 });
  resumeConversation(data, { extraCostUsd: 0.05 });
  expect(budgetLeft(data, 0)).toEqual([{ kind: 'cost', limit: 0.35, left: 0.05 }]);
  const { costUsd, extraCostUsd } = openConversation({ ...input, carried: carryConversation(data) });
  expect([costUsd, extraCostUsd]).toEqual([0.3, 0.05]);
});

test('a step whose cost is not known uses up a budget of cost until more is granted, and changes nothing without one', () => {
  const free = spend({});
  countStep(free, cost(null));
  expect(carryConversation(free)).not.toHaveProperty('unknownCost');
  const data = spend({ costUsd: 5 });
  countStep(data, cost(null));
  expect(exhaustedBudget(data, 0)).toEqual({ exhausted: 'cost', limit: 5 });
  const next = openConversation({ ...input, limits: data.limits, carried: carryConversation(data) });
  expect(exhaustedBudget(next, 0)).toEqual({ exhausted: 'cost', limit: 5 });
  resumeConversation(next, { extraCostUsd: Number.NaN });
  expect(exhaustedBudget(next, 0)).toEqual({ exhausted: 'cost', limit: 5 });
  resumeConversation(next, { extraCostUsd: 0.01 });
  expect(exhaustedBudget(next, 0)).toBeUndefined();
});

test('a step of a version without prices costs nothing', () => {
  const data = spend({ costUsd: 5 });
  countStep(data, { inputTokens: 1, outputTokens: 1 });
  expect(carryConversation(data)).not.toHaveProperty('costUsd');
});

test('a grant that is no positive number grants nothing', () => {
  const data = spend({ turns: 1 });
  resumeConversation(data, { extraTurns: -5, extraTokens: Number.NaN, extraWallTimeMs: 'much' as unknown as number });
  expect([data.extraTurns, data.extraTokens, data.extraWallTimeMs]).toEqual([0, 0, 0]);
});
