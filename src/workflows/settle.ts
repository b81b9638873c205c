import type { ProposedCall, SettleCallArgs } from '../contracts/activities.ts';
import { settleCall } from './activities.ts';
import type { RunningConversation } from './running.ts';

/** Where in the conversation calls belong. */
export interface StepPlace {
  turnId: string;
  stepId: string;
}

/** Gives a call that has no result of its own one that the model can read. */
export async function settle(
  running: RunningConversation,
  place: StepPlace,
  call: ProposedCall,
  settlement: SettleCallArgs['settlement'],
  message: string,
): Promise<void> {
  const { callId, tool } = call;
  await settleCall({ conversationId: running.data.conversationId, turnId: place.turnId, stepId: place.stepId, callId, tool, settlement, message });
}
