import * as fc from 'fast-check';
import type { Verdict } from '../../../src/contracts/judging.ts';
import type { AgentLimits } from '../../../src/contracts/agent.ts';
import type { ConversationInput } from '../../../src/contracts/conversation-run.ts';
import { answerApproval, askApproval, dueApprovals, judgeAnswer, openApprovals } from '../../../src/workflows/state/approval-state.ts';
import type { Approval, ConversationData, Resolution } from '../../../src/workflows/state/conversation-data.ts';
import { openConversation, startTurn, takeMessage } from '../../../src/workflows/state/conversation-state.ts';
import { countJudging, takeVerdict, whyNotJudged } from '../../../src/workflows/state/judge-state.ts';
import { toolCall } from '../answers.ts';
import { input as standard } from './conversation-input.ts';

const input = (limits: Partial<AgentLimits> = {}): ConversationInput => ({ ...standard, limits: { ...standard.limits, ...limits } });
const ALLOW: Verdict = { verdict: 'allow', reason: 'It serves the user.', confidence: 1 };
const HAND_OVER: Verdict = { verdict: 'hand-over', reason: 'Not sure.' };

function asked(data: ConversationData): Approval {
  const pending = askApproval(data, 'turn_1', toolCall({ decision: 'ask', auto: true }), 0);
  const approval = data.approvals.find((one) => one.pending === pending);
  if (!approval) throw new Error('there is no approval');
  return approval;
}

/** A call that a judge and people look at. An answer is claimed first, and takes effect when it is recorded. */
class Watched {
  readonly data = openConversation(input({ approvalTimeoutMs: 10 }));
  readonly approval = asked(this.data);
  readonly hash = this.approval.pending.hash;
  /** Who has claimed the approval, and whose answers took effect. */
  readonly claims: string[] = [];
  readonly effects: string[] = [];
  private recording: (() => void) | undefined;

  claim(who: string, answer: Resolution['answer']): void {
    this.approval.claimed = true;
    this.claims.push(who);
    this.recording = () => {
      if (answerApproval(this.data, this.approval, { answer }, { nowMs: 0 })) this.effects.push(who);
    };
  }
  judge(verdict: Verdict): void {
    if (takeVerdict(this.data, this.approval, this.hash, verdict) === 'allow') this.claim('judge', 'allow-once');
  }
  mayPersonAnswer(): boolean {
    return judgeAnswer(this.data, { callId: this.approval.pending.callId, hash: this.hash, answer: 'allow' }).outcome === 'accept';
  }
  person(answer: 'allow-once' | 'deny'): void {
    if (this.mayPersonAnswer()) this.claim('person', answer);
  }
  /** It is claimed while the arguments are checked: the judge comes too late for that moment, and not for ever. */
  editWrongly(): void {
    if (!this.mayPersonAnswer()) return;
    this.approval.claimed = true;
    expect(takeVerdict(this.data, this.approval, this.hash, ALLOW)).toBe('late');
    this.approval.claimed = false;
  }
  expire(): void {
    if (dueApprovals(this.data, 20).includes(this.approval)) this.claim('policy', 'expired');
  }
  end(): void {
    if (openApprovals(this.data).some((one) => one === this.approval && !one.claimed)) this.claim('end', 'withdrawn');
  }
  record(): void {
    this.recording?.();
    this.recording = undefined;
  }
}

const HAPPENINGS: Record<string, (watched: Watched) => void> = {
  'the judge allows': (watched) => watched.judge(ALLOW),
  'the judge hands over': (watched) => watched.judge(HAND_OVER),
  'a person allows': (watched) => watched.person('allow-once'),
  'a person denies': (watched) => watched.person('deny'),
  'a person edits wrongly': (watched) => watched.editWrongly(),
  'it expires': (watched) => watched.expire(),
  'the turn ends': (watched) => watched.end(),
  'an answer is recorded': (watched) => watched.record(),
};

test('whoever answers first decides, in any order, and a call has one answer', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...Object.keys(HAPPENINGS)), { maxLength: 12 }), (happenings) => {
      const watched = new Watched();
      for (const what of happenings) HAPPENINGS[what]?.(watched);
      const { claims, effects, approval, data, hash } = watched;
      expect(claims.length).toBeLessThanOrEqual(1);
      expect(effects).toEqual(claims.slice(0, effects.length));
      expect(approval.answer !== undefined).toBe(effects.length === 1);
      if (approval.answer) expect(takeVerdict(data, approval, hash, ALLOW)).toBe('late');
    }),
  );
});

test('a verdict about other arguments allows nothing', () => {
  const data = openConversation(input());
  const approval = asked(data);
  const { hash } = approval.pending;
  approval.pending.hash = 'edited';
  expect(takeVerdict(data, approval, hash, ALLOW)).toBe('hand-over');
});

test('a call that is handed over says why a person is asked', () => {
  const data = openConversation(input());
  const approval = asked(data);
  expect(takeVerdict(data, approval, approval.pending.hash, HAND_OVER)).toBe('hand-over');
  expect(approval.pending.why).toBe('allowed by the test. Handed over: Not sure.');
});

test('after some hand-overs in a row the judge is not asked, until it allows or the user sends a message', () => {
  const data = openConversation(input({ judge: { handovers: 2 } }));
  const judge = (verdict: Verdict) => {
    const approval = asked(data);
    takeVerdict(data, approval, approval.pending.hash, verdict);
  };
  judge(HAND_OVER);
  judge(ALLOW);
  judge(HAND_OVER);
  expect(whyNotJudged(data, 0)).toBeUndefined();
  judge(HAND_OVER);
  expect(whyNotJudged(data, 0)).toBe('The judge is not asked: it has handed over the last 2 calls.');
  takeMessage(data, { messageId: 'ended-call_1', text: 'An agent has ended.' }, 'turn_2');
  delete data.turn;
  startTurn(data, 0);
  expect(whyNotJudged(data, 0)).toBeDefined();
  delete data.turn;
  takeMessage(data, { messageId: 'msg_2' }, 'turn_3');
  startTurn(data, 0);
  expect(whyNotJudged(data, 0)).toBeUndefined();
});

test('the judge is not asked in a conversation of a sub-agent, nor without a budget; what it uses counts', () => {
  const data = openConversation(input({ budget: { tokens: 100 } }));
  expect(whyNotJudged(data, 0)).toBeUndefined();
  countJudging(data, { inputTokens: 90, outputTokens: 10 });
  expect(data.tokensUsed).toBe(100);
  expect(whyNotJudged(data, 0)).toBe('The judge is not asked: the budget of tokens is used up.');
  const child = openConversation({ ...input(), parent: { conversationId: 'conv_0', callId: 'call_0', path: ['conv_0'] } });
  expect(whyNotJudged(child, 0)).toContain('written by a model, and not by the user');
});
