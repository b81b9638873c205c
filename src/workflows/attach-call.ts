import { ActivityFailure, CancellationScope, TimeoutFailure } from '@temporalio/workflow';
import type { ExecuteToolResult, ProposedCall } from '../contracts/activities.ts';
import type { FinishedCall } from '../contracts/sub-agent.ts';
import type { ConversationData } from './state/conversation-data.ts';
import { executeTool, interruptCall } from './activities.ts';
import { countAsked, modelLeft } from './state/asked-state.ts';
import { storageLimit } from './state/budget-state.ts';
import { askForServer } from './ask-about-method.ts';
import { dropQuestions, newQuestions } from './state/questions.ts';
import { mustEnd } from './state/conversation-state.ts';
import { pauseIsDue } from './state/pause-state.ts';
import { isLong } from './move-on.ts';
import { endSubAgent, leaveInBackground, shareOf } from './state/sub-agents.ts';
import { letGoOfSubAgent } from './sub-agents.ts';
import { freezeForPause } from './pause.ts';
import { endedByCancel, type RunningConversation } from './running.ts';
import { settle, type StepPlace } from './settle.ts';

/** How one attach ended: as the tool reports, without an answer because the workflow cancelled it, or with a failure that retries did not correct. */
export type AttachEnd = ExecuteToolResult | { outcome: 'cancelled' } | { outcome: 'failed'; settlement: 'failed' | 'unknown'; message: string };

const INTERRUPTED = 'Interrupted: the turn was ended before this call had a result.';

/** State that is shared by calls that run at the same time. */
export interface Round {
  freezing?: Promise<void>;
  /** One call alone runs. */
  isAlone?: boolean;
  /** Calls whose code is followed. */
  scripts?: number;
  /** When its run is long and all of its calls wait for clients or sub-agents, they are left for a new run to wait for. */
  mayBeLeft?: boolean;
  /** Scopes that were not cancelled, for reuse by the next calls: creating one costs several promises. */
  scopes?: CancellationScope[];
}
/** A running call: its scope, whose cancellation detaches from it, and the interruption that it has to wait for. */
interface Attached {
  call: ProposedCall;
  place: StepPlace;
  /** Ends with the attach: questions that its server asked are withdrawn then. */
  asker: { ended: boolean };
  asking: Promise<void>[];
  scope: CancellationScope;
  round: Round;
  interrupting?: Promise<void>;
}

/** Whether a new run should wait for what the calls of a round wait for: each look at it makes the history longer, and it may take months. */
export function isToLeave({ data }: RunningConversation, { mayBeLeft, scripts = 0 }: Round): boolean {
  return mayBeLeft === true && scripts === 0 && data.runningCalls.length === 0 && !pauseIsDue(data, 'call') && isLong();
}

/** Attaches to a call once. `openMethods`: calls of its code that the workflow owns already. Not `async`, which would cost two more promises. */
export function attachCall(running: RunningConversation, place: StepPlace, call: ProposedCall, round: Round, openMethods: string[] = []): Promise<AttachEnd> {
  const { data } = running;
  const { turnId, stepId } = place;
  data.runningCalls.push({ callId: call.callId, tool: call.tool });
  running.show();
  const { conversationId, agentId, userId, tenantId } = data;
  const { callId, tool, hash, timeoutMs, needsSandbox } = call;
  const attached: Attached = { call, scope: round.scopes?.pop() ?? new CancellationScope(), round, place, asker: { ended: false }, asking: [] };
  const identity = { conversationId, agentId, userId, tenantId, turnId, stepId, callId, tool, hash, timeoutMs, needsSandbox };
  const mostBytes = storageLimit(data);
  const args = {
    ...identity,
    ...(mostBytes !== undefined && { storageLimit: mostBytes }),
    ...(openMethods.length > 0 && { openMethods }),
    ...(call.decision === 'ask' && { approved: true as const }),
    ...(call.share && { share: shareOf(data, callId) ?? {} }),
    ...((call.inOwnSandbox || call.mayAskModel) && { modelLeft: modelLeft(data, callId, Date.now()) }),
  };
  const answer = attached.scope.run(() => executeTool(data, call, args));
  const unwatch = running.watch(() => heed(running, attached));
  return answer.then(
    (end) => {
      unwatch();
      // A tool that runs beside the worker may have woken the sandbox, to put a file there.
      if (needsSandbox || end.sandboxTier === 'running') data.sandboxTier = end.sandboxTier;
      countAsked(data, callId, end.asked);
      if (end.outcome === 'finished') takeFacts(data, callId, end);
      return leave(running, attached, end);
    },
    (error: unknown) => {
      unwatch();
      return leave(running, attached, failedAttach(attached, error));
    },
  );
}

function takeFacts(data: ConversationData, callId: string, { started, failsTurn, plan, spent }: FinishedCall): void {
  if (started !== undefined) leaveInBackground(data, callId, started);
  if (failsTurn !== undefined && data.turn) data.turn.fails ??= failsTurn;
  if (plan) data.plan = plan;
  if (spent) endSubAgent(data, callId, spent, Date.now());
}

function leave(running: RunningConversation, attached: Attached, end: AttachEnd): AttachEnd | Promise<AttachEnd> {
  const { data } = running;
  const { call, scope, round, interrupting, asker, asking } = attached;
  asker.ended = true;
  const withdraw = (): AttachEnd => {
    data.runningCalls = data.runningCalls.filter(({ callId }) => callId !== call.callId);
    dropQuestions(data, call.callId);
    running.show();
    if (!scope.consideredCancelled) round.scopes?.push(scope);
    return end;
  };
  const left = interrupting ? [...asking, interrupting] : asking;
  return left.length === 0 ? withdraw() : Promise.all(left).then(withdraw);
}

/** Detaches from a running call for a pause `now`, and ends the call when the turn has to end. */
function heed(running: RunningConversation, attached: Attached): void {
  const { data } = running;
  const { call, scope, round } = attached;
  if (scope.consideredCancelled) return;
  for (const asked of newQuestions(data, call.callId)) attached.asking.push(askForServer(running, attached.place, attached.asker, asked));
  if (mustEnd(data)) {
    if (runsInSandbox(call)) attached.interrupting ??= interrupt(data, attached);
    else scope.cancel();
  } else if (call.needsSandbox && data.pauseWish?.mode === 'now') {
    // The commands stop at once, while the activities that follow them still detach.
    round.freezing ??= freezeForPause(running);
    scope.cancel();
  }
}

/** In the conversation's sandbox, or in that of a plugin: what runs there outlives its worker, and has to be ended there. */
function runsInSandbox({ needsSandbox, inOwnSandbox }: ProposedCall): boolean {
  return needsSandbox || inOwnSandbox === true;
}

async function interrupt(data: ConversationData, { call, scope }: Attached): Promise<void> {
  try {
    await interruptCall(data, call);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    scope.cancel();
  }
}

function failedAttach({ call, scope }: Attached, error: unknown): AttachEnd {
  const timedOut = error instanceof ActivityFailure && error.cause instanceof TimeoutFailure;
  if (timedOut && call.retry === 'once') {
    return {
      outcome: 'failed',
      settlement: 'unknown',
      message:
        'The worker that ran this call died, stopped answering, or could not store the result; it is not known whether the call took effect. It was not run again.',
    };
  }
  if (endedByCancel(error, scope)) return { outcome: 'cancelled' };
  if (!(error instanceof ActivityFailure)) throw error;
  return { outcome: 'failed', settlement: 'failed', message: `${call.tool} failed: ${error.cause?.message ?? error.message}` };
}

/** Settles a call whose attach ended without a result. */
export async function settleEnd(running: RunningConversation, place: StepPlace, call: ProposedCall, end: AttachEnd): Promise<void> {
  if (call.share && (end.outcome === 'failed' || end.outcome === 'cancelled')) await letGoOfSubAgent(running, call.callId);
  if (end.outcome === 'failed') await settle(running, place, call, end.settlement, end.message);
  // Cancelled at the end of a turn: an activity that could still answer would have returned `interrupted` itself.
  else if (end.outcome === 'cancelled') await settle(running, place, call, 'interrupted', INTERRUPTED);
}

/** Settles a call of an ended turn. A command that a pause left in the sandbox is ended first, and its output is kept. */
export async function abandon(running: RunningConversation, place: StepPlace, call: ProposedCall, started: boolean): Promise<void> {
  if (call.share) await letGoOfSubAgent(running, call.callId);
  if (!started || !runsInSandbox(call)) return settle(running, place, call, 'interrupted', INTERRUPTED);
  const end = await attachCall(running, place, call, {});
  if (end.outcome !== 'detached' && end.outcome !== 'cancelled' && end.outcome !== 'suspended') return settleEnd(running, place, call, end);
  await settle(running, place, call, 'unknown', 'The turn was ended, but the sandbox could not be reached; it is not known how far this call came.');
}
