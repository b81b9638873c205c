import type { ClaimedCall, ClientCall, ClientToolExpiry } from '../../contracts/client-tool.ts';
import type { OutputSchema } from '../types/output-schema.ts';
import type { ConversationEvent } from '../../contracts/events.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';

/** A tool that a request declares for clients to run. */
export interface RequestedClientTool {
  /** What it does. The model reads this. */
  description: string;
  /** Of its arguments, an object: a JSON Schema or a schema of zod. Default: no arguments. */
  parameters?: OutputSchema | undefined;
  /** Of its result. Default: any JSON value. */
  output?: OutputSchema | undefined;
  /** How long a result is waited for: a text such as `30s`, or milliseconds. 0: without limit. Default 10 minutes. */
  timeout?: string | number | undefined;
  /** When no result has come in time: `unavailable` (default) tells the model, `fail` ends the turn as failed. */
  otherwise?: ClientToolExpiry | undefined;
  /** Whether a person has to allow each call. Default false. */
  requireApproval?: boolean | undefined;
}
/** By the names under which clients know them: a letter, then letters, digits, `-` and `_`. */
export type RequestedClientTools = Record<string, RequestedClientTool>;

export interface ClaimOptions {
  callId: string;
  /** Names the client, such as a random id of a page. */
  holder: string;
  /** For how long, up to 5 minutes; default 30 000. The same holder may claim again before that has passed. `0` gives the call back. */
  leaseMs?: number;
}

export interface ResultOptions {
  callId: string;
  result: Json;
  /** The tool has failed, and `result` says why. */
  isError?: boolean;
  /** The client that has claimed the call; absent when none has. */
  holder?: string;
}

export interface HandlerContext {
  callId: string;
  /** Aborts when the result is no longer wanted: the turn was ended, the time is over, another client has the call, or the tools are stopped. */
  signal: AbortSignal;
}

/** Runs a tool. What it returns is the result, an error that it throws is a failed one. */
export type ClientToolHandler = (input: JsonObject, context: HandlerContext) => unknown;

export interface ServeToolsOptions {
  /** Takes no more calls, aborts the signals of the running handlers and waits for them. */
  signal?: AbortSignal;
}

/** Calls of one conversation that wait for clients. */
export interface ClientToolCalls<Conversation = string> {
  /** Oldest first. `seq` is the number of the conversation's last event then. */
  waitingCalls(conversation: Conversation): Promise<{ calls: ClientCall[]; seq: number }>;
  /**
   * Takes a call, so that no other client runs it. Fails with `CLIENT_CALL_TAKEN` while another has it, and with `CLIENT_CALL_ENDED` when it waits no
   * longer.
   */
  claimCall(conversation: Conversation, options: ClaimOptions): Promise<ClaimedCall>;
  /**
   * Gives the result of a call. It counts once: the same result may be given again, another one fails with `CLIENT_RESULT_DIFFERENT`. Fails with
   * `CLIENT_RESULT_INVALID` when the tool's schema forbids it, and as `claimCall` does.
   */
  giveResult(conversation: Conversation, options: ResultOptions): Promise<void>;
}

/** The same calls, and what runs tools with them. */
export interface ClientTools<Conversation> extends ClientToolCalls<Conversation> {
  tools(conversation: Conversation, handlers: Record<string, ClientToolHandler>, options?: ServeToolsOptions): Promise<void>;
}

/** The tools of one conversation. */
export interface ChatTools {
  /**
   * Runs tools of the agent's `clientTools` here: takes their calls, those too that wait already, runs the handlers and gives the results. Resolves when the
   * conversation closes, or when `signal` aborts or this object is disposed and the running handlers have ended.
   */
  tools(handlers: Record<string, ClientToolHandler>, options?: ServeToolsOptions): Promise<void>;
}

/** What serving tools needs of a client. */
export interface ToolsHost extends ClientToolCalls {
  events(conversationId: string, options: { afterSeq: number; signal: AbortSignal }): AsyncIterable<ConversationEvent>;
}
