import type { EditArgumentsArgs, EditArgumentsResult } from '../contracts/activities.ts';
import { MAX_INLINE_ARGUMENTS } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import { isQuestion } from '../contracts/questions/question.ts';
import type { JsonObject } from '../contracts/json.ts';
import { decide } from '../plugins/approval/decide.ts';
import { hashCall } from '../plugins/registry/hash-call.ts';
import { registryInConversation } from '../plugins/registry/registry-in-conversation.ts';
import type { RegisteredTool, Registry } from '../plugins/registry/registry.ts';
import { answerQuestion } from './questions/answer-question.ts';
import { isOutdated } from '../tool-calls/run/bound-to-approval.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';

type Parts = Pick<ActivityDependencies, 'store' | 'registry' | 'agents'>;

/**
 * Checks arguments that an operator edited against the tool's schema and the agent's denials, stores them in place of the model's, and adds a note for the
 * model.
 */
export function createEditArguments({ store, agents, ...parts }: Parts) {
  return async function editArguments({ conversationId, agentId, callId, tool: toolId, editedArguments }: EditArgumentsArgs): Promise<EditArgumentsResult> {
    if (isQuestion(toolId)) return answerQuestion(store, { callId, tool: toolId, editedArguments });
    const registry = await registryOf(conversationId);
    const tool = registry.get(toolId);
    if (!tool) return refuse(failure('TOOL_NOT_FOUND', { tool: toolId, known: registry.tools.map(({ id }) => id).join(', ') }).message);
    const problems = await tool.problemsOf(editedArguments);
    if (problems.length > 0) return refuse(problems.join('; '));
    const edited = tool.accept(editedArguments);
    const agent = agents.get(agentId);
    const { decision, why } = agent ? decide(agent, tool, edited) : { decision: 'ask', why: '' };
    if (decision === 'deny') return refuse(`the rules of the agent deny them (${why}). Give other arguments, or deny the call`);
    return edit(conversationId, callId, tool, edited);
  };

  async function registryOf(conversationId: string): Promise<Registry> {
    const conversation = await store.conversations.get(conversationId);
    return conversation ? registryInConversation({ ...parts, store }, agents.get(conversation.agentId), conversation) : parts.registry;
  }

  async function edit(conversationId: string, callId: string, tool: RegisteredTool, edited: JsonObject): Promise<EditArgumentsResult> {
    const hash = hashCall(tool, edited);
    const before = await store.toolCalls.get(callId);
    // A repeated attempt finds its own edit, which has the current version.
    if (before && isOutdated(tool, before)) {
      return refuse(
        `its plugin has version ${tool.pluginVersion} now, but the approval is for another version. Deny the call; the agent can call the tool again`,
      );
    }
    const done = await store.toolCalls.edit(callId, edited, hash);
    const call = await store.toolCalls.get(callId);
    if (!call) throw failure('TOOL_CALL_NOT_FOUND', { callId });
    if (!done && call.hash !== hash) return refuse(`call "${callId}" is ${call.state} already; its arguments cannot be changed any more`);
    const json = JSON.stringify(edited);
    const text = `The arguments of call ${callId} (${tool.id}) were changed by the person who approved it. It runs with: ${json}`;
    await store.transcript.append(conversationId, call.turnId, call.stepId, `edited-${callId}-${hash}`, { role: 'note', text });
    return { outcome: 'edited', hash, ...(json.length <= MAX_INLINE_ARGUMENTS && { arguments: edited }) };
  }
}

/** `message` is the end of a sentence about the arguments. */
function refuse(message: string): EditArgumentsResult {
  return { outcome: 'invalid', message };
}
