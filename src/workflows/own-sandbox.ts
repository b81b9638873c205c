import { ActivityFailure } from '@temporalio/workflow';
import { destroySandbox, forkSandbox, keepSandbox } from './activities.ts';
import { changeTier } from './rest.ts';
import type { RunningConversation } from './running.ts';
import { closeConversation } from './state/conversation-state.ts';

/**
 * A fork gets its files before its first turn. It is not cancelled: a copy that goes on after the end of the conversation would belong to nobody. A fork that
 * cannot have its files is closed, and says why in its log.
 */
export async function getFiles(running: RunningConversation): Promise<void> {
  const { data } = running;
  if (!data.awaitsFiles) return;
  const { conversationId, agentId, tenantId } = data;
  try {
    const files = await forkSandbox(data, { conversationId, agentId, tenantId });
    if (files.outcome === 'failed') closeConversation(data, `the fork could not get its files: ${files.problem}`);
    else data.sandboxTier = files.sandboxTier;
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    const problem = error.cause?.message ?? error.message;
    data.outbox.push({ type: 'fork.failed', data: { problem } });
    closeConversation(data, `the fork could not get its files: ${problem}`);
  }
  running.change(() => delete data.awaitsFiles);
  await running.save();
}

/**
 * Destroys the conversation's sandbox, or stops it and keeps its files, as the agent's `onClose` says. Runs even when no sandbox is known: a call may have
 * created one without a report to the workflow.
 */
export async function closeSandbox(running: RunningConversation): Promise<void> {
  const { data } = running;
  await changeTier(running, () => (data.limits.onClose === 'keep' ? keepSandbox('close', data) : destroySandbox('close', data)));
}
