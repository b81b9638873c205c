import { Context } from '@temporalio/activity';
import type { Agent } from '../contracts/agent.ts';
import type { CompactContextArgs, ContextSummary } from '../contracts/transcript.ts';
import { isFailure } from '../contracts/errors.ts';
import { addUsage, type Usage } from '../contracts/usage.ts';
import type { Models } from '../models/create-models.ts';
import { digest, readSummary, type SummarySource } from '../models/context/read-summary.ts';
import { estimateTokens } from '../models/context/prompt-size.ts';
import { placesIn } from '../models/context/shown-entries.ts';
import { SUMMARY_INSTRUCTIONS, summaryMaterial } from '../models/context/summary-request.ts';
import type { ModelRequest } from '../models/model.ts';
import type { Logger } from '../platform/log.ts';
import { MOST_LIMITED_ANSWER } from '../models/context/afford-step.ts';
import { classifyAbort, toTemporalFailure } from './failures.ts';

export interface SummaryParts {
  models: Models;
  log: Logger;
}
interface SummaryTask {
  agent: Agent;
  source: SummarySource;
}

/** Part of the window for what is summed up, and the least characters of a token. */
const MATERIAL_PART = 0.5;
const CHARACTERS_PER_TOKEN = 3;
/** Answers of a model that are not in the fixed form. */
const MOST_ANSWERS = 2;
/** The end of a summary that is not whole. */
const CUT_OFF = '(The summary was cut off here: what should have followed is missing.)';
/** A provider that fails so often gives no summary; the conversation goes on without. */
const MOST_ATTEMPTS = 6;
const FIRST_PAUSE_MS = 500;

/** Sums up what is left out. When no summary can be had, or none is affordable, a list of the calls stands for it: a conversation never fails for that. */
export async function sumUp(parts: SummaryParts, args: CompactContextArgs, task: SummaryTask): Promise<{ summary: ContextSummary; usage?: Usage }> {
  const { source } = task;
  const request = requestFor(args, task);
  const { cancellationSignal, info } = Context.current();
  const needs = estimateTokens(request.transcript) + MOST_LIMITED_ANSWER;
  if (args.tokensLeft !== undefined && args.tokensLeft < needs) return { summary: digest(source) };
  try {
    return await ask(parts, args, task, request);
  } catch (error) {
    if (cancellationSignal.aborted) throw classifyAbort(error);
    const isFinal = isFailure(error) && !error.retryable;
    if (!isFinal && info.attempt < MOST_ATTEMPTS) throw toTemporalFailure(error, FIRST_PAUSE_MS * 2 ** info.attempt);
    return { summary: withoutModel(parts, args, source, error) };
  }
}

function withoutModel({ log }: SummaryParts, { conversationId }: CompactContextArgs, source: SummarySource, error: unknown): ContextSummary {
  log.warn({ conversationId, err: error }, 'a conversation is compacted without a summary of a model');
  return digest(source);
}

async function ask(
  parts: SummaryParts,
  args: CompactContextArgs,
  { agent, source }: SummaryTask,
  request: ModelRequest,
): Promise<{ summary: ContextSummary; usage: Usage }> {
  const model = parts.models.get(agent);
  const answer = async () => {
    const { parts: said, usage, cutOff } = await model.answer(request, () => undefined);
    const texts = said.map((part) => (part.type === 'text' ? part.text : ''));
    return { summary: await readSummary([...texts, ...(cutOff ? [CUT_OFF] : [])].join('\n'), source), usage };
  };
  let { summary, usage } = await answer();
  try {
    for (let count = 1; !summary && count < MOST_ANSWERS; count += 1) {
      const next = await answer();
      [summary, usage] = [next.summary, addUsage(usage, next.usage)];
    }
  } catch (error) {
    if (Context.current().cancellationSignal.aborted) throw error;
    // Another attempt would not know of what was used, and pay again.
    summary = withoutModel(parts, args, source, error);
  }
  return { summary: summary ?? digest(source), usage };
}

function requestFor({ conversationId, turnId = '' }: CompactContextArgs, { source }: SummaryTask): ModelRequest {
  const { transcript, to, previous, window } = source;
  const placeOf = placesIn(transcript);
  const entries = transcript.filter((stored) => placeOf(stored) > (previous?.to ?? 0) && placeOf(stored) <= to);
  const text = summaryMaterial(entries, previous, Math.floor(window * MATERIAL_PART * CHARACTERS_PER_TOKEN));
  return {
    conversationId,
    turnId,
    step: 0,
    instructions: SUMMARY_INSTRUCTIONS,
    transcript: [{ seq: 1, turnId, at: '', entry: { role: 'user', content: [{ type: 'text', text }] } }],
    tools: [],
    maxOutputTokens: MOST_LIMITED_ANSWER,
    sumsUp: true,
    signal: Context.current().cancellationSignal,
  };
}
