import type { Json, JsonObject } from '../../contracts/json.ts';
import type { CutOff } from '../../contracts/transcript.ts';

/** A question that the server of a plugin asks the worker during a request, and how the worker finds the answer. */
export interface ServerQuestion extends HostOfQuestion {
  what: string;
  args: Json[];
}

/** What a plugin in a sandbox of its own may use of the conversation that has called it. */
export interface HostOfQuestion {
  /** Asks the model of the conversation's agent. What it uses counts as used by the conversation. @throws Error that says why it is not asked */
  askModel(this: void, question: ModelQuestion): Promise<ModelReply>;
  /** The name of that model. */
  modelName: string;
  /** What the user and the agent have said, oldest first. */
  saidSoFar(this: void): Promise<SaidMessage[]>;
}

export interface ModelQuestion {
  /** Images of users are shown to the model; `data` is base 64. */
  messages: { role: 'system' | 'user' | 'assistant'; text: string; images?: { mediaType: string; data: string }[] }[];
  tools: { name: string; description: string; parameters: JsonObject }[];
  maxOutputTokens?: number;
}

export interface ModelReply {
  text: string;
  reasoning: string;
  calls: { id: string; name: string; arguments: JsonObject }[];
  usage: { inputTokens: number; outputTokens: number };
  /** The answer is not whole. */
  cutOff?: CutOff;
}

export interface SaidMessage {
  /** Unique in its conversation. */
  id: string;
  by: 'user' | 'agent';
  text: string;
  /** ISO 8601, UTC. */
  at: string;
}
