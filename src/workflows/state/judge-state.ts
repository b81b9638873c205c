import type { Verdict } from '../../contracts/judging.ts';
import { NOTICE_OF_END } from '../../contracts/sub-agent.ts';
import type { Usage } from '../../contracts/usage.ts';
import { budgetLeft, countCost } from './budget-state.ts';
import type { Approval, ConversationData } from './conversation-data.ts';

const DEFAULT_HANDOVERS = 3;

/** Whether a message is what somebody wrote, and no notice about a sub-agent. */
export function isOfUser({ messageId }: { messageId: string }): boolean {
  return !messageId.startsWith(NOTICE_OF_END);
}

/** Why the judge is not asked about calls now, and a person decides; undefined if it is. */
export function whyNotJudged(data: ConversationData, nowMs: number): string | undefined {
  if (data.parent) return 'The judge is not asked: what a sub-agent has to do was written by a model, and not by the user.';
  const { handovers = DEFAULT_HANDOVERS } = data.limits.judge ?? {};
  if (data.handovers >= handovers) return `The judge is not asked: it has handed over the last ${data.handovers} calls.`;
  const spent = budgetLeft(data, nowMs).find(({ kind, left }) => (kind === 'tokens' || kind === 'cost') && left <= 0);
  return spent && `The judge is not asked: the budget of ${spent.kind} is used up.`;
}

/** Counts the call of the judge's model. */
export function countJudging(data: ConversationData, usage: Usage): void {
  data.tokensUsed += usage.inputTokens + usage.outputTokens;
  countCost(data, usage);
}

/**
 * Takes the verdict about a call whose arguments had this hash. `late`: the call was answered before, or is another one by now. A call that is handed over says
 * why a person is asked.
 */
export function takeVerdict(data: ConversationData, approval: Approval, hash: string, { verdict, reason }: Verdict): 'allow' | 'hand-over' | 'late' {
  const { pending } = approval;
  if (approval.claimed || approval.answer !== undefined || data.closing || !data.approvals.includes(approval)) return 'late';
  if (verdict === 'allow' && pending.hash === hash) {
    data.handovers = 0;
    return 'allow';
  }
  data.handovers += 1;
  pending.why = `${pending.why}. Handed over: ${reason}`;
  return 'hand-over';
}
