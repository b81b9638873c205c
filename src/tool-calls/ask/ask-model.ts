import type { ExecuteToolArgs } from '../../contracts/activities.ts';
import type { Agent } from '../../contracts/agent.ts';
import { modelName } from '../../common/model-name.ts';
import type { Models } from '../../models/create-models.ts';
import type { ModelQuestion, ModelReply } from '../../plugins/api/server-question.ts';
import type { UsageRows } from '../../store/service/usage.ts';
import { affordable, patiently, replyOf, requestOf } from './question-to-model.ts';

export interface AskParts {
  args: Pick<ExecuteToolArgs, 'conversationId' | 'turnId' | 'callId' | 'modelLeft'>;
  agent: Agent | undefined;
  models: Models;
  usage: Pick<UsageRows, 'add' | 'under'>;
  signal: AbortSignal;
}

/** A plugin that asks in a loop is stopped, also where a conversation has no budget. */
const MOST_QUESTIONS = 50;

/** The beginning of the ids under which the usage of a call's questions is counted. */
export function usageOfCall(callId: string): string {
  return `plugin-${callId}-`;
}

/**
 * Asks the model of the agent for a plugin. The conversation has to have something left of its budget, and what is used is counted before the plugin has the
 * answer. `id` is unique for each question and each attempt at it: an attempt that was answered has cost something, even if nobody received the answer.
 */
export async function askModel({ args, agent, models, usage, signal }: AskParts, id: string, question: ModelQuestion): Promise<ModelReply> {
  const { conversationId, turnId, callId } = args;
  if (!agent) throw new Error('the agent of this conversation does not exist any more, so no model can be asked');
  const asked = await usage.under(conversationId, usageOfCall(callId));
  if (asked.calls >= MOST_QUESTIONS) throw new Error(`a call may ask the model ${MOST_QUESTIONS} times, and it has done so`);
  const request = requestOf(args, question, signal);
  if (!args.modelLeft) throw new Error('the model cannot be asked in this call');
  const most = affordable(args.modelLeft, asked, request, models.isPriced(agent));
  const limits = [most, question.maxOutputTokens].filter((limit) => limit !== undefined);
  const limited = { ...request, ...(limits.length > 0 && { maxOutputTokens: Math.min(...limits) }) };
  const answer = await patiently(() => models.get(agent).answer(limited, () => undefined), signal);
  await usage.add({ conversationId, turnId, id: `${usageOfCall(callId)}${id}` }, modelName(agent), answer.usage);
  return replyOf(answer);
}
