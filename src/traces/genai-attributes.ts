import type { Agent } from '../contracts/agent.ts';
import { modelName } from '../common/model-name.ts';
import type { SpanAttributes } from './tracing.ts';

/** What a span says of tokens and cost. */
export interface SpanUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  costUsd?: number | null;
}

/** Names of providers in the conventions, where they differ from ours. */
const PROVIDERS: Record<string, string> = { google: 'gcp.gemini' };
/** Options of a model that the conventions name. */
const REQUEST: Record<string, string> = {
  temperature: 'gen_ai.request.temperature',
  maxOutputTokens: 'gen_ai.request.max_tokens',
  topP: 'gen_ai.request.top_p',
  topK: 'gen_ai.request.top_k',
  frequencyPenalty: 'gen_ai.request.frequency_penalty',
  presencePenalty: 'gen_ai.request.presence_penalty',
  seed: 'gen_ai.request.seed',
};

/** The provider and the name of an agent's model. */
export function modelParts(agent: Pick<Agent, 'model'>): { provider: string; model: string } {
  const name = modelName(agent);
  const slash = name.indexOf('/');
  const prefix = name.slice(0, slash);
  return { provider: PROVIDERS[prefix] ?? prefix, model: name.slice(slash + 1) };
}

export function modelAttributes(agent: Pick<Agent, 'model'>): SpanAttributes {
  const { provider, model } = modelParts(agent);
  return { 'gen_ai.provider.name': provider, 'gen_ai.request.model': model };
}

export function requestAttributes({ modelOptions }: Pick<Agent, 'modelOptions'>): SpanAttributes {
  return Object.fromEntries(
    Object.entries(REQUEST).flatMap(([option, name]) => (typeof modelOptions[option] === 'number' ? [[name, modelOptions[option]]] : [])),
  );
}

/** The conventions have no attribute for cost; one that is not known is left out. */
export function usageAttributes({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd }: SpanUsage): SpanAttributes {
  return {
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    ...(cacheReadTokens !== undefined && { 'gen_ai.usage.cache_read.input_tokens': cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { 'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens }),
    ...(typeof costUsd === 'number' && { 'longshore.cost_usd': costUsd }),
  };
}
