import type { ConversationInput } from '../../../src/contracts/conversation.ts';
import { exhaustedBudget, pauseForBudget } from '../../../src/workflows/state/budget-state.ts';
import { finishTurn, openConversation, startTurn } from '../../../src/workflows/state/conversation-state.ts';
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

test('a grant that is no positive number grants nothing', () => {
  const data = spend({ turns: 1 });
  resumeConversation(data, { extraTurns: -5, extraTokens: Number.NaN, extraWallTimeMs: 'much' as unknown as number });
  expect([data.extraTurns, data.extraTokens, data.extraWallTimeMs]).toEqual([0, 0, 0]);
});
