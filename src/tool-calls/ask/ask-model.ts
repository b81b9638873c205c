import { setTimeout as pause } from 'node:timers/promises';
import type { ExecuteToolArgs } from '../../contracts/activities.ts';
import type { Agent } from '../../contracts/agent.ts';
import { isFailure } from '../../contracts/errors.ts';
import { saidIn, type AssistantPart, type StoredEntry, type TranscriptEntry } from '../../contracts/transcript.ts';
import type { UsageTotals } from '../../contracts/usage.ts';
import { modelName } from '../../common/model-name.ts';
import { affordStep, MOST_LIMITED_ANSWER } from '../../models/context/afford-step.ts';
import type { Models } from '../../models/create-models.ts';
import type { ModelAnswer, ModelRequest } from '../../models/model.ts';
import type { ModelQuestion, ModelReply } from '../../plugins/api/server-question.ts';
import type { UsageRows } from '../../store/service/usage.ts';

export interface AskParts {
  args: Pick<ExecuteToolArgs, 'conversationId' | 'turnId' | 'callId' | 'modelLeft'>;
  agent: Agent | undefined;
  models: Models;
  usage: Pick<UsageRows, 'add' | 'under'>;
  signal: AbortSignal;
}

/** A plugin that asks in a loop is stopped, also where a conversation has no budget. */
const MOST_QUESTIONS = 50;
const MOST_TRIES = 3;
const FIRST_PAUSE_MS = 1_000;

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
  const most = affordable(args.modelLeft, asked, request, models.isPriced(agent));
  const limits = [most, question.maxOutputTokens].filter((limit) => limit !== undefined);
  const limited = { ...request, ...(limits.length > 0 && { maxOutputTokens: Math.min(...limits) }) };
  const answer = await patiently(() => models.get(agent).answer(limited, () => undefined), signal);
  await usage.add({ conversationId, turnId, id: `${usageOfCall(callId)}${id}` }, modelName(agent), answer.usage);
  return replyOf(answer);
}

/** The most tokens of an answer; undefined for no limit. @throws Error that names the part of the budget that is used up */
function affordable(left: ExecuteToolArgs['modelLeft'], asked: UsageTotals, request: ModelRequest, isPriced: boolean): number | undefined {
  if (!left) throw new Error('the model cannot be asked in this call');
  if (left.costUsd !== undefined) {
    if (!isPriced || asked.costUsd === null) throw new Error('the price of the model is not known, and the conversation has a budget of cost');
    if (left.costUsd - asked.costUsd <= 0) throw new Error('the budget of cost of the conversation is used up');
  }
  if (left.tokens === undefined) return undefined;
  const tokens = left.tokens - asked.inputTokens - asked.outputTokens;
  const found = affordStep(tokens, { transcript: request.transcript, instructions: request.instructions, tools: request.tools, compactions: [], recall: '' });
  if ('needs' in found) {
    throw new Error(`the question needs about ${found.needs} tokens, and ${Math.max(0, tokens)} of the budget of the conversation are left`);
  }
  return found.maxOutputTokens ?? MOST_LIMITED_ANSWER;
}

function requestOf({ conversationId, turnId }: AskParts['args'], { messages, tools }: ModelQuestion, signal: AbortSignal): ModelRequest {
  const said = messages.filter(({ role }) => role !== 'system');
  return {
    conversationId,
    turnId,
    step: 0,
    instructions: messages.flatMap(({ role, text }) => (role === 'system' ? [text] : [])).join('\n\n'),
    transcript: said.map((message, index): StoredEntry => ({ seq: index + 1, turnId, at: '', entry: entryOf(message) })),
    tools: tools.map((tool) => ({ tool: tool.name, ...tool })),
    ofPlugin: true,
    signal,
  };
}

function entryOf({ role, text, images = [] }: ModelQuestion['messages'][number]): TranscriptEntry {
  const said = { type: 'text' as const, text };
  if (role === 'assistant') return { role, parts: [said] };
  // Some providers refuse an empty text.
  const isShown = text.trim() !== '' || images.length === 0;
  return { role: 'user', content: [...(isShown ? [said] : []), ...images.map((image) => ({ type: 'image' as const, ...image }))] };
}

async function patiently(ask: () => Promise<ModelAnswer>, signal: AbortSignal): Promise<ModelAnswer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isFailure(error) || !error.retryable || tries === MOST_TRIES) throw error;
      await pause(FIRST_PAUSE_MS * 2 ** (tries - 1), undefined, { signal });
    }
  }
}

function replyOf({ parts, usage: { inputTokens, outputTokens } }: ModelAnswer): ModelReply {
  const calls = parts.filter((part) => part.type === 'tool-call');
  return {
    text: saidIn({ role: 'assistant', parts }),
    reasoning: textsOf(parts),
    calls: calls.map((call, index) => ({ id: `call_${index + 1}`, name: call.tool, arguments: call.arguments })),
    usage: { inputTokens, outputTokens },
  };
}

function textsOf(parts: AssistantPart[]): string {
  return parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])).join('');
}
