import type { InterruptCallArgs } from '../contracts/activities.ts';
import { execOf, isDirectExecOf, isExecOf } from '../contracts/call-ids.ts';
import { isFailure } from '../contracts/errors.ts';
import type { WorkerHandle } from '../sandbox/api/sandbox.ts';
import type { ToolCallRow } from '../store/tool-call-rows.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import type { ConversationSandboxes } from '../tool-calls/run/sandbox-of-conversation.ts';
import { ownSandboxOf } from '../tool-calls/run/tool-run.ts';
import { INTERRUPTED_MARK } from '../tool-calls/run/tool-sandbox.ts';
import { settleInterrupted } from '../tool-calls/results/settle-call.ts';

/**
 * Ends the commands of a call, whichever worker is attached. A running command is only killed here: the attached `executeTool`, now or at its next
 * attempt, sees the kill and stores the result with the output so far. A call that has not started is settled here.
 */
export function createInterruptCall(parts: Pick<ActivityDependencies, 'store' | 'registry'> & { opened: ConversationSandboxes }) {
  return async function interruptCall({ conversationId, callId }: InterruptCallArgs): Promise<void> {
    const call = await parts.store.toolCalls.get(callId);
    if (!call || call.content) return;
    if (call.state === 'proposed' && (await settledUnclaimed(call))) return;
    const handle = await openIfThere(conversationId, call.tool);
    // Without a sandbox nothing runs: an attempt that creates one reads the ledger after that.
    if (handle) await killCommandsOf(handle, callId);
    else await settleInterrupted(parts.store, call);
  };

  /** True when the call was settled before any worker claimed it; then no worker will claim it. */
  async function settledUnclaimed(call: ToolCallRow): Promise<boolean> {
    await settleInterrupted(parts.store, call);
    return (await parts.store.toolCalls.get(call.callId))?.fence === 0;
  }

  async function openIfThere(conversationId: string, tool: string): Promise<WorkerHandle | undefined> {
    const [row, conversation] = await Promise.all([parts.opened.rowOf(conversationId), parts.store.conversations.get(conversationId)]);
    const ownSandbox = ownSandboxOf(parts.registry.get(tool));
    if (conversation && ownSandbox) {
      const isThere = (await ownSandbox.find(conversation.tenantId)) !== undefined;
      return isThere ? (await ownSandbox.open(conversation.tenantId, true)).handle : undefined;
    }
    if (!row || !conversation || row.state === 'destroyed') return undefined;
    const { tenantId, agentId } = conversation;
    try {
      return (await parts.opened.open({ conversationId, tenantId, agentId })).handle;
    } catch (error) {
      // It has no processes, and who starts them next reads the ledger first.
      if (isFailure(error, 'HOST_FULL') && row.state !== 'hibernated') return undefined;
      throw error;
    }
  }
}

/** Kills running commands and blocks the next one. A command that starts meanwhile is either killed or blocked. */
async function killCommandsOf(handle: WorkerHandle, callId: string): Promise<void> {
  for (;;) {
    const commands = (await handle.execs()).filter(({ execId }) => isExecOf(callId, execId));
    await Promise.all(commands.filter(({ state }) => state === 'running').map(({ execId }) => handle.kill(execId, 'SIGTERM')));
    const begun = commands.filter(({ execId }) => isDirectExecOf(callId, execId)).length;
    if (await barNextCommand(handle, execOf(callId, begun + 1))) return;
  }
}

async function barNextCommand(handle: WorkerHandle, execId: string): Promise<boolean> {
  try {
    await handle.start(INTERRUPTED_MARK, { execId });
    return true;
  } catch (error) {
    if (isFailure(error, 'EXEC_MISMATCH')) return false;
    throw error;
  }
}
