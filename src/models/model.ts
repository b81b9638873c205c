import type { JsonObject } from '../contracts/json.ts';
import type { AssistantPart, CutOff, StoredEntry } from '../contracts/transcript.ts';
import type { ReadMedia } from './media/prompt-media.ts';
import type { Usage } from '../contracts/usage.ts';

/** A tool in the form that a model gets. `name` is the provider-safe alias. */
export interface ModelTool {
  /** Full id. */
  tool: string;
  name: string;
  description: string;
  parameters: JsonObject;
}

export interface ModelRequest {
  conversationId: string;
  turnId: string;
  /** Number of the step in its turn, from 0. */
  step: number;
  instructions: string;
  /** All of it; a scripted model finds its place in it. */
  transcript: StoredEntry[];
  /** The entries that the prompt has; absent: all. */
  shown?: StoredEntry[];
  /** The answer is to sum up, in the form of `SUMMARY_INSTRUCTIONS`. */
  sumsUp?: true;
  /** A plugin asks, beside the steps of the conversation. */
  ofPlugin?: true;
  tools: ModelTool[];
  /** The most that the answer may have, where it has to be less than what the agent's file allows. */
  maxOutputTokens?: number;
  /** JSON Schema that the final answer has to fit. The instructions say so, too. */
  output?: JsonObject;
  readMedia?: ReadMedia;
  signal: AbortSignal;
}

export type ModelDelta = { type: 'text'; text: string } | { type: 'reasoning'; text: string };

/** The answer of a model. Tool calls have the name that the model used, or the full id where it is known; the caller makes their `callId`. */
export interface ModelAnswer {
  parts: AssistantPart[];
  /** Its cost is added by what makes the models. */
  usage: Usage;
  /** The provider reported no tokens: those of `usage` are 0, and the cost is not known. */
  isUnmeasured?: true;
  /** The answer is not whole. */
  cutOff?: CutOff;
}

/** One model behind one interface. Errors are `MODEL_*` failures; a rate limit may carry `retryAfterMs` in its values. */
export interface Model {
  answer(request: ModelRequest, onDelta: (delta: ModelDelta) => void): Promise<ModelAnswer>;
}
