import { ActivityFailure } from '@temporalio/workflow';
import { type CompactContextResult, type CompactionReason, MOST_COMPACTIONS } from '../contracts/transcript.ts';
import { withoutUndefined } from '../common/without-undefined.ts';
import { compactContext, restoreContext } from './activities.ts';
import { newId, unlessEnded, type RunningConversation } from './running.ts';
import { sharedParts } from './state/budget-state.ts';
import { offerLimits } from './state/sub-agents.ts';
import type { Turn } from '../contracts/conversation-run.ts';
import { countUsage } from './state/conversation-state.ts';

/** Makes the prompt of the turn's next step smaller. When nothing more can be left out, the step is tried as it is. */
export async function compactForStep(running: RunningConversation, turn: Turn, reason: CompactionReason): Promise<void> {
  const before = turn.compactions ?? 0;
  turn.compactions = before + 1;
  const result = await compact(running, newId('cmp'), reason, before);
  if (result !== 'ended' && !result.changed) turn.compactions = MOST_COMPACTIONS;
}

/** Does what an operator has asked for. It never fails a conversation: a note says why it was not done. */
export async function serveContextWish(running: RunningConversation): Promise<void> {
  const { data } = running;
  const wish = data.contextWish;
  if (wish === undefined) return;
  delete data.contextWish;
  data.changesContext = true;
  try {
    if (wish.undo) return await restoreContext({ conversationId: data.conversationId, requestId: wish.requestId });
    const result = await compact(running, wish.requestId, 'operator', 0);
    if (result !== 'ended' && !result.changed) note(running, 'The context was not compacted: there is nothing to leave out.');
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    note(running, `The context could not be changed: ${error.cause?.message ?? error.message}`);
  } finally {
    delete data.changesContext;
  }
}

async function compact(running: RunningConversation, compactionId: string, reason: CompactionReason, before: number): Promise<CompactContextResult | 'ended'> {
  const { data } = running;
  const { conversationId, agentId, userId, tenantId } = data;
  const optional = withoutUndefined({ turnId: data.turn?.turnId, tokensLeft: sharedParts(data, Date.now()).tokens?.left });
  const place = { conversationId, agentId, userId, tenantId, ...offerLimits(data), ...optional };
  const result = await unlessEnded(running, () => compactContext({ ...place, compactionId, reason, before }));
  if (result !== 'ended' && result.usage) countUsage(data, result.usage);
  return result;
}

function note({ data }: RunningConversation, text: string): void {
  data.outbox.push({ type: 'note', ...(data.turn && { turnId: data.turn.turnId }), data: { text } });
}
