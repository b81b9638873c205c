import { array, assert, boolean, double, integer, nat, property, record } from 'fast-check';
import { carryConversation, countStep, openConversation } from '../../../src/workflows/state/conversation-state.ts';
import { budgetLeft, exhaustedBudget, spentBy } from '../../../src/workflows/state/budget-state.ts';
import { addSubAgent, endSubAgent, placeSubAgent, shareOf } from '../../../src/workflows/state/sub-agents.ts';
import { input } from './conversation-input.ts';

const open = (tokens?: number) => openConversation({ ...input, limits: { ...input.limits, budget: { ...(tokens !== undefined && { tokens }) } } });
const spent = (tokens: number) => ({ tokens, workedMs: 0, costUsd: 0 });

test('a share is what was asked for, and no more than is left', () => {
  const data = open(1000);
  addSubAgent(data, { callId: 'a', share: { tokens: 700 } }, 0);
  addSubAgent(data, { callId: 'b', share: { tokens: 700 } }, 0);
  expect([shareOf(data, 'a'), shareOf(data, 'b')]).toEqual([{ tokens: 700 }, { tokens: 300 }]);
  expect(exhaustedBudget(data, 0)).toEqual({ exhausted: 'tokens', limit: 1000 });
});

test('what a sub-agent has not spent is free again, once', () => {
  const data = open(1000);
  addSubAgent(data, { callId: 'a', share: { tokens: 700 } }, 0);
  endSubAgent(data, 'a', spent(200), 0);
  endSubAgent(data, 'a', spent(200), 0);
  expect(budgetLeft(data, 0)).toEqual([{ kind: 'tokens', limit: 1000, left: 800 }]);
  expect(spentBy(data, 0)).toEqual({ tokens: 200, steps: 0, workedMs: 0, costUsd: 0 });
});

test('who asks for nothing gets an eighth of the whole', () => {
  const data = open(1000);
  for (const callId of ['a', 'b']) addSubAgent(data, { callId, share: {} }, 0);
  expect([shareOf(data, 'a'), shareOf(data, 'b')]).toEqual([{ tokens: 125 }, { tokens: 125 }]);
});

test('without a limit, a share has only the limits that were asked for', () => {
  const data = open();
  addSubAgent(data, { callId: 'a', share: { costUsd: 2 } }, 0);
  expect(shareOf(data, 'a')).toEqual({ costUsd: 2 });
});

test('when nothing is left and nobody works, the first that waits gets an empty share, so that it is told', () => {
  const data = open(100);
  data.tokensUsed = 100;
  addSubAgent(data, { callId: 'a', share: { tokens: 50 } }, 0);
  expect(shareOf(data, 'a')).toEqual({ tokens: 0 });
});

test('sub-agents that have not ended are carried to the next run, and no others', () => {
  const data = open(1000);
  expect(carryConversation(data)).not.toHaveProperty('subAgents');
  addSubAgent(data, { callId: 'a', share: { tokens: 700 } }, 0);
  const next = openConversation({ ...input, limits: data.limits, carried: carryConversation(data) });
  endSubAgent(next, 'a', spent(10), 0);
  expect([next.subAgents, next.tokensUsed]).toEqual([[], 10]);
});

test('a call that waits for a place is told of one once, and only while its sub-agent is known', () => {
  const data = open(1000);
  addSubAgent(data, { callId: 'a', share: {} }, 0);
  for (const told of ['a', 'a', 'b', undefined, 7]) placeSubAgent(data, told);
  expect(data.placedAgents).toEqual(['a']);
});

test('in any order of begins and ends: no more than the budget is put aside and spent, at most eight work, in the order in which they came', () => {
  const action = record({ ask: integer({ min: 1, max: 400 }), ends: nat(20), spends: double({ min: 0, max: 1, noNaN: true }), adds: boolean() });
  const keepsItsBudget = property(integer({ min: 1, max: 2000 }), array(action, { maxLength: 80 }), (tokens, actions) => {
    const data = open(tokens);
    const admitted: string[] = [];
    actions.forEach(({ ask, ends, spends, adds }, index) => {
      const atWork = data.subAgents.filter(({ share }) => share);
      const ending = atWork[ends % Math.max(1, atWork.length)];
      if (adds || !ending) addSubAgent(data, { callId: `call ${index}`, share: { tokens: ask } }, 0);
      else endSubAgent(data, ending.callId, spent(Math.floor((ending.share?.tokens ?? 0) * spends)), 0);
      const works = data.subAgents.filter(({ share }) => share);
      for (const { callId } of works) if (!admitted.includes(callId)) admitted.push(callId);
      const aside = works.reduce((sum, { share }) => sum + (share?.tokens ?? 0), 0);
      expect(aside + data.tokensUsed).toBeLessThanOrEqual(tokens);
      expect(works.length).toBeLessThanOrEqual(8);
      expect(works.length > 0 || data.subAgents.length === 0).toBe(true);
    });
    const numbers = admitted.map((callId) => Number(callId.slice('call '.length)));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  });
  assert(keepsItsBudget, { numRuns: 500 });
});

const ofTask = (taskSteps: number) => openConversation({ ...input, limits: { ...input.limits, taskSteps, budget: { steps: 40 } } });

test('of the steps of a task, what is asked for or an eighth is put aside, and what is used counts', () => {
  const data = ofTask(10);
  addSubAgent(data, { callId: 'a', share: { steps: 4 } }, 0);
  addSubAgent(data, { callId: 'b', share: {} }, 0);
  expect([shareOf(data, 'a'), shareOf(data, 'b')]).toEqual([{ steps: 4 }, { steps: 1 }]);
  endSubAgent(data, 'a', { ...spent(0), steps: 3 }, 0);
  countStep(data, { inputTokens: 1, outputTokens: 1 });
  expect(budgetLeft(data, 0)).toEqual([{ kind: 'steps', limit: 10, left: 5 }]);
  expect(spentBy(data, 0)).toMatchObject({ steps: 4, tokens: 2 });
});

test('the steps of a task are used up over all of its turns, and are carried to the next run', () => {
  const data = ofTask(2);
  for (const _ of [1, 2]) countStep(data, { inputTokens: 1, outputTokens: 1 });
  expect(exhaustedBudget(data, 0)).toEqual({ exhausted: 'steps', limit: 2 });
  const next = openConversation({ ...input, limits: data.limits, carried: carryConversation(data) });
  expect(exhaustedBudget(next, 0)).toEqual({ exhausted: 'steps', limit: 2 });
});

test('of the steps of a turn, nothing is put aside', () => {
  const data = openConversation({ ...input, limits: { ...input.limits, budget: { steps: 4 } } });
  addSubAgent(data, { callId: 'a', share: { steps: 30 } }, 0);
  addSubAgent(data, { callId: 'b', share: {} }, 0);
  expect([shareOf(data, 'a'), shareOf(data, 'b')]).toEqual([{ steps: 30 }, {}]);
});
