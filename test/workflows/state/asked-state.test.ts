import type { ConversationInput } from '../../../src/contracts/conversation-run.ts';
import { countAsked, countTasks, modelLeft, tasksMayUse } from '../../../src/workflows/state/asked-state.ts';
import { budgetLeft, grantCost } from '../../../src/workflows/state/budget-state.ts';
import { carryConversation, openConversation, startTurn, takeMessage } from '../../../src/workflows/state/conversation-state.ts';
import { input } from './conversation-input.ts';

const CALL = 'call_1';

function turnWith(budget: ConversationInput['limits']['budget']) {
  const data = openConversation({ ...input, limits: { ...input.limits, budget } });
  takeMessage(data, { messageId: 'm1' }, 'turn_1');
  startTurn(data, 0);
  return data;
}

test('a call may use what is left of the budget, and nothing is bounded that has no budget', () => {
  expect(modelLeft(turnWith({ tokens: 1_000, costUsd: 2 }), CALL, 0)).toEqual({ tokens: 1_000, costUsd: 2 });
  expect(modelLeft(turnWith({}), CALL, 0)).toEqual({});
});

test('what a call has asked counts once, however often the call is attached to', () => {
  const data = turnWith({ tokens: 1_000, costUsd: 2 });
  countAsked(data, CALL, { inputTokens: 300, outputTokens: 40, costUsd: 0.5 });
  countAsked(data, CALL, { inputTokens: 300, outputTokens: 40, costUsd: 0.5 });
  expect([data.tokensUsed, data.costUsd]).toEqual([340, 0.5]);
  countAsked(data, CALL, { inputTokens: 400, outputTokens: 60, costUsd: 0.75 });
  expect([data.tokensUsed, data.costUsd]).toEqual([460, 0.75]);
  countAsked(data, 'call_2', { inputTokens: 10, outputTokens: 0, costUsd: 0 });
  expect(data.tokensUsed).toBe(470);
});

test('an attach is told what is left with what the call has used, which it knows itself', () => {
  const data = turnWith({ tokens: 1_000, costUsd: 2 });
  countAsked(data, CALL, { inputTokens: 300, outputTokens: 40, costUsd: 0.5 });
  expect(modelLeft(data, CALL, 0)).toEqual({ tokens: 1_000, costUsd: 2 });
  expect(modelLeft(data, 'call_2', 0)).toEqual({ tokens: 660, costUsd: 1.5 });
});

test('a question whose cost is not known uses up the budget of cost', () => {
  const data = turnWith({ costUsd: 2 });
  countAsked(data, CALL, { inputTokens: 300, outputTokens: 40, costUsd: null });
  expect(budgetLeft(data, 0)).toEqual([{ kind: 'cost', limit: 2, left: 0 }]);
});

test('what tasks have used is told as a whole each time and counts once, also in the next run of the workflow', () => {
  const data = turnWith({ tokens: 1_000, costUsd: 2 });
  const used = { inputTokens: 300, outputTokens: 40, costUsd: 0.5, unpricedCalls: 0 };
  countTasks(data, undefined);
  expect(data.tokensUsed).toBe(0);
  countTasks(data, used);
  countTasks(data, used);
  expect([data.tokensUsed, data.costUsd]).toEqual([340, 0.5]);
  expect(tasksMayUse(data, 0)).toEqual({ tasksMayUse: { tokens: 1_000, costUsd: 2 } });
  const next = openConversation({ ...input, limits: data.limits, carried: carryConversation(data) });
  countTasks(next, { ...used, inputTokens: 400, costUsd: 0.75 });
  expect([next.tokensUsed, next.costUsd]).toEqual([440, 0.75]);
  expect(modelLeft(next, CALL, 0)).toEqual({ tokens: 560, costUsd: 1.25 });
});

test('what tasks may have used and have not used after all is no longer counted', () => {
  const data = turnWith({ tokens: 1_000, costUsd: 2 });
  countTasks(data, { inputTokens: 300, outputTokens: 400, costUsd: 1, unpricedCalls: 0 });
  countTasks(data, { inputTokens: 300, outputTokens: 40, costUsd: 0.5, unpricedCalls: 0 });
  expect([data.tokensUsed, data.costUsd]).toEqual([340, 0.5]);
});

test('a question of a task whose cost is not known uses up the budget of cost once, so that a grant ends that', () => {
  const data = turnWith({ costUsd: 2 });
  const used = { inputTokens: 300, outputTokens: 40, costUsd: 0, unpricedCalls: 1 };
  countTasks(data, used);
  expect(budgetLeft(data, 0)).toEqual([{ kind: 'cost', limit: 2, left: 0 }]);
  grantCost(data, 1);
  countTasks(data, used);
  expect(budgetLeft(data, 0)).toEqual([{ kind: 'cost', limit: 3, left: 3 }]);
});

test('for a sub-agent, tasks may use nothing, and an earlier version says nothing either', () => {
  const data = openConversation({ ...input, parent: { conversationId: 'conv_0' } as never });
  expect(tasksMayUse(data, 0)).toEqual({});
});

test('a cost that is not known, and that is told again after a grant, does not take the grant back', () => {
  const data = turnWith({ costUsd: 2 });
  const asked = { inputTokens: 300, outputTokens: 40, costUsd: null };
  countAsked(data, CALL, asked);
  grantCost(data, 1);
  countAsked(data, CALL, asked);
  expect(budgetLeft(data, 0)).toEqual([{ kind: 'cost', limit: 3, left: 3 }]);
  countAsked(data, CALL, { ...asked, inputTokens: 310 });
  expect(budgetLeft(data, 0)).toEqual([{ kind: 'cost', limit: 3, left: 0 }]);
});
