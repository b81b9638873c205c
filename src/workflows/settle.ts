import type { ProposedCall, SettleCallArgs } from '../contracts/activities.ts';
import { settleCall } from './activities.ts';
import type { RunningConversation } from './running.ts';

/** The turn and the step of calls. */
export interface StepPlace {
  turnId: string;
  stepId: string;
}

/** Stores a result that the model can read for a call that has none of its own. */
export async function settle(
  running: RunningConversation,
  place: StepPlace,
  call: ProposedCall,
  settlement: SettleCallArgs['settlement'],
  message: string,
): Promise<void> {
  const { callId, tool, retry } = call;
  const { conversationId } = running.data;
  const once = settlement === 'failed' && retry === 'once' && { runsOnce: true as const };
  await settleCall({ conversationId, turnId: place.turnId, stepId: place.stepId, callId, tool, settlement, message, ...once });
}
