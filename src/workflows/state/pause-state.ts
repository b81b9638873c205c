import type { PauseArgs, PauseReason, ResumeArgs } from '../../contracts/conversation.ts';
import type { PauseWish } from '../../contracts/conversation-run.ts';
import { grantCost, stopWork } from './budget-state.ts';
import type { ConversationData } from './conversation-data.ts';

/** An operator's request to pause. A later request to pause after the step does not weaken a request to pause now. */
export function wishPause(data: ConversationData, { mode, note }: PauseArgs): void {
  if (data.closing || data.paused) return;
  const reason: PauseReason = { by: 'operator', ...(typeof note === 'string' && note !== '' && { note: note.slice(0, 500) }) };
  data.pauseWish = { reason, mode: mode === 'now' || data.pauseWish?.mode === 'now' ? 'now' : 'step' };
}

/** True when the conversation has to rest here: it is paused, or a requested pause begins at this moment. */
export function pauseIsDue(data: ConversationData, moment: 'step' | 'call'): boolean {
  return data.paused !== undefined || (data.pauseWish !== undefined && (moment === 'step' || data.pauseWish.mode === 'now'));
}

/** Turns the request into a pause. */
export function enterPause(data: ConversationData, nowMs: number): PauseWish | undefined {
  const wish = data.pauseWish;
  if (wish === undefined) return undefined;
  delete data.pauseWish;
  data.paused = wish.reason;
  data.pausedHow = wish.mode;
  data.pausedAtMs = nowMs;
  stopWork(data, nowMs);
  data.outbox.push({ type: 'conversation.paused', ...(data.turn && { turnId: data.turn.turnId }), data: { ...wish.reason } });
  return wish;
}

/** Ends a pause or the request for one, and adds what the operator grants. Resuming after the steps were used up grants the same number of steps again. */
export function resumeConversation(data: ConversationData, grants: ResumeArgs): void {
  data.extraTurns += amount(grants.extraTurns);
  data.extraTokens += amount(grants.extraTokens);
  data.extraWallTimeMs += amount(grants.extraWallTimeMs);
  if (amount(grants.extraStorageMb) > 0) data.extraStorageMb = (data.extraStorageMb ?? 0) + amount(grants.extraStorageMb);
  grantCost(data, positive(grants.extraCostUsd));
  delete data.pauseWish;
  const { paused, turn } = data;
  if (paused === undefined) return;
  if (paused.by === 'budget' && paused.exhausted === 'steps' && turn) turn.extraSteps += data.limits.budget.steps ?? 0;
  delete data.paused;
  delete data.pausedAtMs;
  delete data.pausedHow;
  data.outbox.push({ type: 'conversation.resumed', ...(turn && { turnId: turn.turnId }), data: {} });
}

function amount(value: unknown): number {
  return Math.floor(positive(value));
}

function positive(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}
