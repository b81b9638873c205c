import * as fc from 'fast-check';
import type { ConversationInput, QueuedMessage, WhenBusy } from '../../src/contracts/conversation.ts';
import { exhaustedBudget, pauseForBudget } from '../../src/workflows/state/budget-state.ts';
import {
  carryConversation,
  closeConversation,
  countStep,
  dropQueue,
  endTurn,
  finishTurn,
  judgeMessage,
  mustEnd,
  openConversation,
  startTurn,
  stateOf,
  statusOf,
  takeMessage,
  takeSteers,
  takeWake,
  type ConversationData,
} from '../../src/workflows/state/conversation-state.ts';
import { enterPause, resumeConversation, wishPause } from '../../src/workflows/state/pause-state.ts';

const input: ConversationInput = {
  conversationId: 'conv_1',
  agentId: 'fixer',
  userId: 'user',
  tenantId: 'tenant',
  limits: { budget: { turns: 1000, steps: 3, tokens: 100 }, freezeAfterMs: 0, stopAfterMs: 0, onClose: 'destroy', approvalTimeoutMs: 0 },
};

type Action =
  | { do: 'send'; id: number; whenBusy: WhenBusy }
  | { do: 'step'; tokens: number }
  | { do: 'interrupt' | 'stop' | 'pause' | 'cancel' | 'carry' }
  | { do: 'resume'; extraTokens: number };

const actions = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('send' as const), id: fc.nat(60), whenBusy: fc.constantFrom<WhenBusy>('queue', 'steer', 'interrupt', 'reject') }),
    },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('step' as const), tokens: fc.nat(30) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('interrupt' as const, 'stop' as const, 'pause' as const, 'carry' as const) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('resume' as const), extraTokens: fc.constantFrom(0, 50) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
  ),
  { maxLength: 120 },
);

/** Drives the state as the workflow does, and keeps its own books. */
class Simulation {
  data: ConversationData = openConversation(input);
  taken = new Set<string>();
  answered: string[] = [];
  dropped: string[] = [];
  turns = new Set<string>();
  private nowMs = 0;
  private ids = 0;

  act(action: Action): void {
    this.nowMs += 10;
    switch (action.do) {
      case 'send':
        return this.send(`msg_${action.id}`, action.whenBusy);
      case 'step':
        return this.step(action.tokens);
      case 'interrupt':
        endTurn(this.data, 'interrupted');
        return this.end();
      case 'stop':
        endTurn(this.data, 'stopped');
        return;
      case 'pause':
        wishPause(this.data, {});
        return;
      case 'cancel':
        this.dropped.push(...this.data.queue.map(({ messageId }) => messageId), ...(this.data.turn?.steers.map(({ messageId }) => messageId) ?? []));
        dropQueue(this.data);
        endTurn(this.data, 'cancelled');
        return this.end();
      case 'resume':
        return resumeConversation(this.data, { extraTokens: action.extraTokens });
      case 'carry':
        if (this.data.turn === undefined) this.data = openConversation({ ...input, carried: carryConversation(this.data) });
    }
  }

  private send(messageId: string, whenBusy: WhenBusy): void {
    const verdict = judgeMessage(this.data, { messageId, whenBusy });
    if (verdict.outcome === 'duplicate') expect(this.taken.has(messageId)).toBe(true);
    if (verdict.outcome !== 'accept') return;
    expect(this.taken.has(messageId)).toBe(false);
    this.taken.add(messageId);
    takeMessage(this.data, { messageId, whenBusy }, this.newTurn());
    if (mustEnd(this.data)) this.end();
  }

  private step(tokens: number): void {
    enterPause(this.data, this.nowMs);
    if (this.data.paused) return;
    const spent = exhaustedBudget(this.data, this.nowMs);
    if (spent) return pauseForBudget(this.data, spent);
    if (this.data.turn === undefined) return this.start(startTurn(this.data, this.nowMs)?.message);
    if (this.data.turn.ending) return this.end();
    this.answered.push(...takeSteers(this.data).map(({ messageId }) => messageId));
    this.data.turn.steps += 1;
    countStep(this.data, { inputTokens: tokens, outputTokens: 0 });
    if (tokens % 3 === 0 && this.data.turn.steers.length === 0) this.end();
  }

  private start(message: QueuedMessage | undefined): void {
    if (message === undefined) return;
    expect(startTurn(this.data, this.nowMs)).toBeUndefined();
    expect(this.turns.has(message.turnId)).toBe(false);
    this.turns.add(message.turnId);
    this.answered.push(message.messageId);
  }

  private end(): void {
    if (this.data.turn) finishTurn(this.data, this.nowMs, () => this.newTurn());
  }

  private newTurn(): string {
    return `turn_${this.ids++}`;
  }
}

function simulate(all: Action[]): Simulation {
  const simulation = new Simulation();
  for (const action of all) simulation.act(action);
  return simulation;
}

test('no message is lost, and none is answered twice', () => {
  fc.assert(
    fc.property(actions, (all) => {
      const { data, taken, answered, dropped } = simulate(all);
      const waiting = [...data.queue, ...(data.turn?.steers ?? [])].map(({ messageId }) => messageId);
      expect([...answered, ...dropped, ...waiting].toSorted()).toEqual([...taken].toSorted());
    }),
    { numRuns: 500 },
  );
});

test('the budget of tokens is never overrun by more than one step', () => {
  fc.assert(
    fc.property(actions, (all) => {
      const { data } = simulate(all);
      expect(data.tokensUsed).toBeLessThan(100 + data.extraTokens + 30);
    }),
  );
});

test('a turn takes no more steps than the budget and its resumes grant', () => {
  fc.assert(
    fc.property(actions, (all) => {
      const { data } = simulate(all);
      expect(data.turn?.steps ?? 0).toBeLessThanOrEqual(3 + (data.turn?.extraSteps ?? 0));
    }),
  );
});

test('carrying over and opening again changes nothing', () => {
  fc.assert(
    fc.property(actions, (all) => {
      const { data } = simulate(all);
      if (data.turn) finishTurn(data, 10_000, () => 'turn_left');
      const carried = carryConversation(data);
      expect(carryConversation(openConversation({ ...input, carried }))).toEqual(carried);
      expect(JSON.parse(JSON.stringify(carried))).toEqual(carried);
    }),
  );
});

test('a carried conversation does not take its first message again', () => {
  const firstMessage = { messageId: 'msg_1', turnId: 'turn_1' };
  const data = openConversation({ ...input, firstMessage });
  startTurn(data, 0);
  finishTurn(data, 5, () => 'turn_2');
  expect(openConversation({ ...input, firstMessage, carried: carryConversation(data) }).queue).toEqual([]);
});

test('the wish of a note for a turn is carried over, counts once for each call, and is met by any step', () => {
  const data = openConversation(input);
  takeWake(data, 'call_1', 'turn_1');
  takeWake(data, 'call_1', 'turn_2');
  expect(statusOf(data, 0).queued).toBe(1);
  expect(judgeMessage(data, { messageId: 'm', whenBusy: 'reject' })).toEqual({ outcome: 'busy', turnId: 'turn_1' });
  const next = openConversation({ ...input, carried: carryConversation(data) });
  takeMessage(next, { messageId: 'm' }, 'turn_m');
  expect(startTurn(next, 0)).toMatchObject({ turnId: 'turn_m', message: { messageId: 'm' } });
  takeSteers(next);
  takeWake(next, 'call_1', 'turn_3');
  finishTurn(next, 0, () => 'turn_4');
  expect(startTurn(next, 0)).toBeUndefined();
});

describe('messages', () => {
  test('an interrupting message ends the turn and goes before those that wait, behind other interrupting ones', () => {
    const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
    startTurn(data, 0);
    takeMessage(data, { messageId: 'b' }, 'turn_b');
    takeMessage(data, { messageId: 'c', whenBusy: 'interrupt' }, 'turn_c');
    takeMessage(data, { messageId: 'd', whenBusy: 'interrupt' }, 'turn_d');
    expect(data.turn?.ending).toBe('interrupted');
    expect(data.queue.map(({ messageId }) => messageId)).toEqual(['c', 'd', 'b']);
  });

  test('a steering message belongs to the running turn, and to a new one when none runs', () => {
    const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
    startTurn(data, 0);
    expect(takeMessage(data, { messageId: 'b', whenBusy: 'steer' }, 'turn_b')).toBe('turn_a');
    finishTurn(data, 1, () => 'turn_late');
    expect(data.queue).toEqual([{ messageId: 'b', turnId: 'turn_late' }]);
    expect(judgeMessage(data, { messageId: 'b' })).toEqual({ outcome: 'duplicate', turnId: 'turn_late' });
  });

  test('a message is refused when the agent is busy and the sender asked for that', () => {
    const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
    expect(judgeMessage(data, { messageId: 'b', whenBusy: 'reject' })).toEqual({ outcome: 'busy', turnId: 'turn_a' });
    startTurn(data, 0);
    expect(judgeMessage(data, { messageId: 'b', whenBusy: 'reject' })).toEqual({ outcome: 'busy', turnId: 'turn_a' });
    finishTurn(data, 1, () => 'x');
    expect(judgeMessage(data, { messageId: 'b', whenBusy: 'reject' })).toEqual({ outcome: 'accept' });
  });

  test('two hundred message ids are remembered', () => {
    const data = openConversation(input);
    for (let n = 0; n < 250; n++) {
      takeMessage(data, { messageId: `m${n}` }, `t${n}`);
      startTurn(data, n);
      finishTurn(data, n, () => 'x');
    }
    expect(judgeMessage(data, { messageId: 'm50' })).toEqual({ outcome: 'duplicate', turnId: 't50' });
    expect(data.recentMessages).toHaveLength(200);
  });

  test('a closing conversation takes none, and reports the turns of those it drops', () => {
    const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
    closeConversation(data);
    expect(judgeMessage(data, { messageId: 'b' })).toEqual({ outcome: 'closed' });
    expect(data.outbox).toEqual([{ type: 'turn.finished', turnId: 'turn_a', data: { outcome: 'cancelled' } }]);
    expect(startTurn(data, 0)).toBeUndefined();
  });
});

describe('budget', () => {
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
});

test('a paused conversation starts no turn and says that it is paused', () => {
  const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
  wishPause(data, { mode: 'now', note: 'look at this' });
  wishPause(data, { mode: 'step' });
  expect(data.pauseWish?.mode).toBe('now');
  enterPause(data, 0);
  expect(startTurn(data, 0)).toBeUndefined();
  expect(stateOf(data)).toBe('paused');
  resumeConversation(data, {});
  expect(startTurn(data, 0)?.turnId).toBe('turn_a');
});
