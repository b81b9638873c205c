import type { Usage } from './usage.ts';

export interface JudgeCallArgs {
  conversationId: string;
  agentId: string;
  turnId: string;
  stepId: string;
  callId: string;
  tool: string;
  /** The conversation has a budget of cost: a judge whose price is not known is not asked. */
  priceRequired?: true;
}
/** `usage`: of the model call, when it was made. */
export interface JudgeCallResult extends Verdict {
  usage?: Usage;
}
/** What a judge says about a call: it runs, or a person decides. */
export interface Verdict {
  verdict: 'allow' | 'hand-over';
  /** One sentence, for people. */
  reason: string;
  /** From 0 to 1; absent when the judge gave no verdict. */
  confidence?: number;
}
