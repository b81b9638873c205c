import { destroySandbox, keepSandbox } from './activities.ts';
import { changeTier } from './rest.ts';
import type { RunningConversation } from './running.ts';

/**
 * Destroys the conversation's sandbox, or stops it and keeps its files, as the agent's `onClose` says. Runs even when no sandbox is known: a call may have
 * created one without a report to the workflow.
 */
export async function closeSandbox(running: RunningConversation): Promise<void> {
  const { conversationId, limits } = running.data;
  await changeTier(running, () => (limits.onClose === 'keep' ? keepSandbox('close', conversationId) : destroySandbox('close', conversationId)));
}
