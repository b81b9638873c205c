import * as fc from 'fast-check';
import type { QueuedMessage, WhenBusy } from '../../../src/contracts/conversation.ts';
import { exhaustedBudget, pauseForBudget } from '../../../src/workflows/state/budget-state.ts';
import type { ConversationData } from '../../../src/workflows/state/conversation-data.ts';
import {
  carryConversation,
  countStep,
  dropQueue,
  endTurn,
  finishTurn,
  judgeMessage,
  mustEnd,
  openConversation,
  startTurn,
  takeMessage,
  takeSteers,
} from '../../../src/workflows/state/conversation-state.ts';
import { enterPause, resumeConversation, wishPause } from '../../../src/workflows/state/pause-state.ts';
import { input } from './conversation-input.ts';

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
