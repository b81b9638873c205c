import { setTimeout as pause } from 'node:timers/promises';
import { isFailure } from '../../contracts/errors.ts';
import { saidIn, type AssistantPart, type StoredEntry, type TranscriptEntry } from '../../contracts/transcript.ts';
import type { ModelShare, UsageTotals } from '../../contracts/usage.ts';
import { affordStep, MOST_LIMITED_ANSWER } from '../../models/context/afford-step.ts';
import type { ModelAnswer, ModelRequest } from '../../models/model.ts';
import type { ModelQuestion, ModelReply } from '../../plugins/api/server-question.ts';

const MOST_TRIES = 3;
const FIRST_PAUSE_MS = 1_000;

/** The most tokens of an answer; undefined for no limit. @throws Error that names the part of the budget that is used up */
export function affordable(
  left: ModelShare,
  asked: Pick<UsageTotals, 'inputTokens' | 'outputTokens' | 'costUsd'>,
  request: ModelRequest,
  isPriced: boolean,
): number | undefined {
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

export function requestOf(
  { conversationId, turnId }: Pick<ModelRequest, 'conversationId' | 'turnId'>,
  { messages, tools }: ModelQuestion,
  signal: AbortSignal,
): ModelRequest {
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

export async function patiently(ask: () => Promise<ModelAnswer>, signal: AbortSignal): Promise<ModelAnswer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isFailure(error) || !error.retryable || tries === MOST_TRIES) throw error;
      await pause(FIRST_PAUSE_MS * 2 ** (tries - 1), undefined, { signal });
    }
  }
}

export function replyOf({ parts, usage: { inputTokens, outputTokens }, cutOff }: ModelAnswer): ModelReply {
  const calls = parts.filter((part) => part.type === 'tool-call');
  return {
    text: saidIn({ role: 'assistant', parts }),
    reasoning: textsOf(parts),
    calls: calls.map((call, index) => ({ id: `call_${index + 1}`, name: call.tool, arguments: call.arguments })),
    usage: { inputTokens, outputTokens },
    ...(cutOff && { cutOff }),
  };
}

function textsOf(parts: AssistantPart[]): string {
  return parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])).join('');
}
