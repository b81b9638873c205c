import type { ExecuteToolArgs, ExecuteToolResult } from '../../contracts/activities.ts';
import { failure } from '../../contracts/errors.ts';
import { hashCall } from '../../plugins/registry/hash-call.ts';
import { registryInConversation } from '../../plugins/registry/registry-in-conversation.ts';
import type { RegisteredTool } from '../../plugins/registry/registry.ts';
import type { ToolCallRow } from '../../store/tool-call-rows.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { createSettleCall } from '../results/settle-call.ts';
import { patiently } from './fate/patiently.ts';
import { startProgress } from './progress.ts';
import { tellStored } from './store-outcome.ts';
import type { Reached } from './tool-run.ts';

type Parts = Pick<ActivityDependencies, 'store' | 'agents' | 'registry' | 'log'> & Reached;
type ExecuteTool = (args: ExecuteToolArgs) => Promise<ExecuteToolResult>;

/**
 * A call that needed approval must not run with another version of its plugin than the one that was shown: it fails, and the model is asked to call
 * again. A call that has begun continues, whatever happens to its plugin.
 */
export function boundToApproval(execute: ExecuteTool, { store, agents, registry, opened, log }: Parts): ExecuteTool {
  return async (args) => {
    if (!args.approved) return execute(args);
    const tool = (await registryInConversation({ registry, store }, agents.get(args.agentId), args)).get(args.tool);
    const call = tool && (await read(args.callId));
    // A call with another hash was edited; its claim checks that.
    if (!call || call.hash !== args.hash || !isOutdated(tool, call)) return execute(args);
    const { message } = failure('APPROVAL_OUTDATED', { tool: tool.id, version: tool.pluginVersion });
    await createSettleCall({ store })({ ...args, settlement: 'failed', message });
    return tellStored({ args, store, opened, registry, tool }, (await store.toolCalls.get(args.callId)) ?? call);
  };

  async function read(callId: string): Promise<ToolCallRow | undefined> {
    // It beats while it waits.
    using progress = startProgress(callId);
    progress.phase('preparing');
    return await patiently(
      () => store.toolCalls.get(callId),
      (error) => log.warn({ callId, err: error }, 'an approved call could not be read yet'),
    );
  }
}

/** True when a call has not begun, and its tool is no longer the version with which the call was proposed. */
export function isOutdated(tool: Pick<RegisteredTool, 'id' | 'pluginVersion'>, call: Pick<ToolCallRow, 'state' | 'arguments' | 'hash'>): boolean {
  return call.state === 'proposed' && hashCall(tool, call.arguments) !== call.hash;
}
