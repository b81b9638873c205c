import type { EditArgumentsArgs, EditArgumentsResult } from '../contracts/activities.ts';
import { MAX_INLINE_ARGUMENTS } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import { hashCall } from '../plugins/hash-call.ts';
import { registryInConversation } from '../plugins/registry-in-conversation.ts';
import type { RegisteredTool, Registry } from '../plugins/registry.ts';
import type { ActivityDependencies } from './dependencies.ts';

/** Checks arguments that an operator changed, stores them in place of the model's and tells the model. */
export function createEditArguments({ store, agents, ...parts }: Pick<ActivityDependencies, 'store' | 'registry' | 'agents'>) {
  return async function editArguments({ conversationId, callId, tool: toolId, editedArguments }: EditArgumentsArgs): Promise<EditArgumentsResult> {
    const registry = await registryOf(conversationId);
    const tool = registry.get(toolId);
    if (!tool) return refuse(failure('TOOL_NOT_FOUND', { tool: toolId, known: registry.tools.map(({ id }) => id).join(', ') }).message);
    const problems = tool.problemsOf(editedArguments);
    if (problems.length > 0) return refuse(failure('TOOL_ARGUMENTS_INVALID', { tool: toolId, problems: problems.join('; ') }).message);
    return edit(conversationId, callId, tool, tool.accept(editedArguments));
  };

  async function registryOf(conversationId: string): Promise<Registry> {
    const conversation = await store.conversations.get(conversationId);
    return conversation ? registryInConversation(parts.registry, agents.get(conversation.agentId), conversation) : parts.registry;
  }

  async function edit(conversationId: string, callId: string, tool: RegisteredTool, edited: JsonObject): Promise<EditArgumentsResult> {
    const hash = hashCall(tool, edited);
    const done = await store.toolCalls.edit(callId, edited, hash);
    const call = await store.toolCalls.get(callId);
    if (!call) throw failure('TOOL_CALL_NOT_FOUND', { callId });
    if (!done && call.hash !== hash) return refuse(`Call "${callId}" is ${call.state} already; its arguments cannot be changed any more.`);
    const json = JSON.stringify(edited);
    const text = `The arguments of call ${callId} (${tool.id}) were changed by the person who approved it. It runs with: ${json}`;
    await store.transcript.append(conversationId, call.turnId, call.stepId, `edited-${callId}-${hash}`, { role: 'note', text });
    return { outcome: 'edited', hash, ...(json.length <= MAX_INLINE_ARGUMENTS && { arguments: edited }) };
  }
}

function refuse(message: string): EditArgumentsResult {
  return { outcome: 'invalid', message };
}
