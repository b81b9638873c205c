import { CancellationScope, condition, TemporalFailure } from '@temporalio/workflow';
import type { JudgeCallResult } from '../contracts/judging.ts';
import { judgeCall } from './activities.ts';
import { recordRequest, resolve } from './record-approval.ts';
import type { Approval } from './state/conversation-data.ts';
import { hasPlace } from './state/place-state.ts';
import { countJudging, takeVerdict, whyNotJudged } from './state/judge-state.ts';
import { endedByCancel, type RunningConversation } from './running.ts';
import type { StepPlace } from './settle.ts';
import { giveBackPlace } from './turn-place.ts';

const JUDGE = 'judge';
const UNATTENDED = 'this conversation is unattended, and the judge has not allowed the call';

/** A judge that is asked about a call while a person may answer, too. */
export interface Judging {
  /** Stops asking, and waits until what was begun has ended. */
  end(): Promise<void>;
}

/** Asks the judge about a call that waits for an answer. Who answers first decides: the judge by allowing the call, or a person. */
export function startJudging(running: RunningConversation, place: StepPlace, approval: Approval): Judging {
  const scope = new CancellationScope();
  const { callId, tool, hash } = approval.pending;
  const { data } = running;
  const done = scope.run(async () => {
    const found = await verdictAbout(running, place, callId, tool);
    if (found === 'stopped') return;
    if (found.usage) countJudging(data, found.usage);
    // An answer that is refused, such as one with arguments that do not fit, leaves the approval open.
    await CancellationScope.nonCancellable(async () => {
      await condition(() => !approval.claimed || approval.answer !== undefined);
      await apply(running, approval, hash, found);
    });
  });
  // `end` throws it.
  done.catch(() => undefined);
  return {
    async end() {
      scope.cancel();
      await done;
    },
  };
}

async function verdictAbout(running: RunningConversation, place: StepPlace, callId: string, tool: string): Promise<JudgeCallResult | 'stopped'> {
  const { data } = running;
  const { conversationId, agentId, limits } = data;
  const why = whyNotJudged(data, Date.now());
  if (why !== undefined) return handedOver(running, place, callId, tool, why);
  try {
    return await judgeCall({ conversationId, agentId, ...place, callId, tool, ...(limits.budget.costUsd !== undefined && { priceRequired: true }) });
  } catch (error) {
    if (endedByCancel(error, CancellationScope.current())) return 'stopped';
    if (!(error instanceof TemporalFailure)) throw error;
    return handedOver(running, place, callId, tool, 'The judge could not be asked.');
  }
}

function handedOver({ data }: RunningConversation, { turnId }: StepPlace, callId: string, tool: string, reason: string): JudgeCallResult {
  data.outbox.push({ type: 'tool.judged', turnId, data: { callId, tool, verdict: 'hand-over', reason } });
  return { verdict: 'hand-over', reason };
}

async function apply(running: RunningConversation, approval: Approval, hash: string, found: JudgeCallResult): Promise<void> {
  const { data } = running;
  switch (takeVerdict(data, approval, hash, found)) {
    case 'allow':
      await resolve(running, approval, { answer: 'allow-once', reason: found.reason }, JUDGE);
      return;
    case 'hand-over':
      if (data.limits.unattended) await resolve(running, approval, { answer: 'deny', reason: `${UNATTENDED}: ${found.reason}`, byPolicy: true }, 'policy');
      else await askPerson(running, approval);
      return;
    case 'late':
      return running.save();
  }
}

/** The status is saved first: a client that reads the event finds the approval in the status, with why a person is asked. Another turn may run until the answer. */
async function askPerson(running: RunningConversation, approval: Approval): Promise<void> {
  await running.save();
  if (approval.answer === undefined && !approval.claimed) await recordRequest(running, approval);
  const { data } = running;
  if (approval.answer === undefined && hasPlace(data) && data.runningCalls.length === 0) await giveBackPlace(running);
}
