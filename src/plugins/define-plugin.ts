import type { z } from 'zod';
import type { Json, JsonObject } from '../contracts/json.ts';
import type { ContentPart } from '../contracts/transcript.ts';
import type { SandboxHandle } from '../sandbox/sandbox.ts';

/** What a tool's result means for the conversation. `behavior`: noted, sets off no new step by itself; the others go back to the model. */
export type ToolKind = 'tool' | 'agent' | 'behavior' | 'multimodal_agent';

/** Hints about what a call does, with MCP's names. They feed the approval policy and the retry policy. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** What a tool is given besides its arguments. The host sets the ids; a model cannot forge them. */
export interface ToolContext {
  conversationId: string;
  userId: string;
  tenantId: string;
  agentId: string;
  turnId: string;
  /** The idempotency key of this call. */
  callId: string;
  /** Aborts when the call is to end. */
  signal: AbortSignal;
  logger: { info(message: string, values?: object): void; warn(message: string, values?: object): void };
  /** Shows progress in the Temporal UI; at most 200 characters. */
  heartbeat(progress: string): void;
  /**
   * The conversation's sandbox, for tools with `isolation: 'container'`. Run commands through `exec`: it names them after this call,
   * so that a repeated `execute` attaches to what it started before instead of running it again.
   */
  sandbox: ToolSandbox;
}

export interface ToolSandbox {
  handle(): Promise<SandboxHandle>;
  /** Runs a command once for this call, however often `execute` is repeated: the n-th `exec` of a call always has the same id. Its output goes to the events. */
  exec(
    command: string,
    options?: { cwd?: string; env?: Record<string, string>; stdin?: string | Uint8Array; timeoutMs?: number },
  ): Promise<import('../sandbox/sandbox.ts').CommandResult>;
  /** Starts a command that outlives the call. */
  start(command: string, options?: { cwd?: string; env?: Record<string, string>; timeoutMs?: number }): Promise<import('../sandbox/sandbox.ts').ExecInfo>;
}

/** A tool's answer: text, any JSON value (shown to the model as JSON), or content parts; `isError` tells the model that it failed. */
export type ToolResult = string | Json | { content: ContentPart[]; isError?: boolean };

export interface Tool {
  /** Within its plugin: letters, digits, `_`, `-`, `.`. */
  id: string;
  description: string;
  /** JSON Schema of the arguments, an object. */
  parameters: JsonObject;
  kind: ToolKind;
  annotations: ToolAnnotations;
  /** Default 60 000. */
  timeoutMs: number;
  /** Where its effects are: `container` for tools that work only through `context.sandbox`, `host` for code of the worker. */
  isolation: 'container' | 'host';
  requireApproval: boolean | undefined;
  /** A line for the Temporal UI, made from the arguments. */
  summarize: ((input: JsonObject) => string) | undefined;
  execute(input: JsonObject, context: ToolContext): Promise<ToolResult>;
}

export interface ToolDefinition<Parameters extends z.ZodType | JsonObject> {
  id: string;
  description: string;
  parameters: Parameters;
  kind?: ToolKind;
  annotations?: ToolAnnotations;
  timeoutMs?: number;
  isolation?: 'container' | 'host';
  requireApproval?: boolean;
  summarize?(input: Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject): string;
  execute(input: Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject, context: ToolContext): Promise<ToolResult>;
}

export interface Plugin {
  /** Lower-case letters, digits, `-`. */
  id: string;
  version: string;
  description: string;
  tools: Tool[];
}
