import type { Json, JsonObject } from '../../contracts/json.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { MethodCall } from '../../sandbox/api/methods.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { ServerQuestion } from './server-question.ts';

/**
 * Where plugins take part in a step. `received`: a message of the user has come; `asking`: the model is asked next; `answered`: it has answered; `sending`: its
 * answer is the last of the turn; `sent`: that answer is stored.
 */
export type HookPoint = 'received' | 'asking' | 'answered' | 'sending' | 'sent';

/** What of a plugin takes part in steps. */
export interface StepHook {
  point: HookPoint;
  /** Its place among the handlers of the point, also of other plugins; numbers are compared from the first one on. */
  order: readonly number[];
  /** When it fails, the message is stopped. */
  stopsOnFailure: boolean;
  /** Within its plugin. */
  handler: string;
  /** Runs handlers of the plugin, in this order. */
  run(this: void, handlers: string[], question: HookQuestion): Promise<HookReply>;
}

export interface HookQuestion {
  point: HookPoint;
  /** Names the question: asked again, it has the same answer, and the handlers do not run again. */
  execId: string;
  conversation: Record<'conversationId' | 'userId' | 'tenantId' | 'agentId', string>;
  /** What the handlers may change. */
  value: JsonObject;
  /** Follows what the handlers ask during the question, in the sandbox of this handle; `answer` makes the answers. */
  answering(this: void, handle: WorkerHandle, answer: (question: ServerQuestion) => Promise<Json>): (call: MethodCall) => void;
}

export interface HookReply {
  value: JsonObject;
  /** No other handler is to run, and nothing is to happen with the message. */
  stopped: boolean;
  /** For the user, in this order. */
  sent: ContentPart[];
  /** Removes what is kept for a repeated question. */
  forget(this: void): Promise<void>;
}
