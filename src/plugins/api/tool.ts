import type { z } from 'zod';
import type { ClientTool } from '../../contracts/client-tool.ts';
import type { JsonObject, Json } from '../../contracts/json.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { OwnSandbox } from './own-sandbox.ts';
import type { OfferedWebhook } from '../../contracts/plugins/webhook.ts';
import type { StepHook } from './step-hook.ts';
import type { PluginStore, ToolContext } from './tool-context.ts';

/** What a tool's result means for the conversation. `behavior`: recorded, but does not start a step by itself. Results of the others go back to the model. */
export type ToolKind = 'tool' | 'agent' | 'behavior' | 'multimodal_agent';

/** Hints about what a call does, with MCP's names. They feed the approval policy and the retry policy. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** A tool's answer: text, any JSON value (shown to the model as JSON), or content parts; `isError` tells the model that it failed. */
export type ToolResult = string | Json | { content: ContentPart[]; isError?: boolean };

/**
 * Where a tool's code runs: in the conversation's sandbox (`container`), in an isolated process (`compartment`), in the worker's process (`host`), or in a
 * sandbox of its plugin (`own`).
 */
export type Isolation = FencedIsolation | 'host' | 'own';
/** The values that a plugin may choose. Only the operator can grant `host`. */
export type FencedIsolation = 'container' | 'compartment';

/** The model sees only the brief of a `deferred` tool until it searches for the tool. It never sees a `hidden` tool, but code in the sandbox may call it. */
export type Visibility = 'visible' | 'deferred' | 'hidden';

/** What a tool may access. Everything else is refused. */
export interface Permissions {
  /** The clock. */
  time?: boolean;
  /** Exact host names; `name:8443` allows only that port. */
  network?: string[];
  /** Names of environment variables. */
  env?: string[];
  /** Absolute directories and files of the host that may be read. */
  fs?: string[];
  random?: boolean;
}

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
  isolation: Isolation;
  permissions: Permissions;
  /** JSON Schema of a result that is text or JSON; undefined accepts any result. */
  resultSchema: JsonObject | undefined;
  visibility: Visibility;
  /** One line that is shown instead of a deferred tool. Default: the first line of the description. */
  brief: string | undefined;
  requireApproval: boolean | undefined;
  /** A line for the Temporal UI, made from the arguments. */
  summarize: ((input: JsonObject) => string) | undefined;
  /** Other data from the plugin. Longshore does not use it. */
  metadata?: JsonObject;
  /** It is of a server that may ask a person during a call. Set by Longshore. */
  mayAsk?: true;
  /** It is of a server that may ask the model of the agent during a call. Set by Longshore. */
  mayAskModel?: true;
  /** Whether a call may have another attempt though it may not be repeated: its server wanted a sign-in first, or has made it a task. Set by Longshore. */
  mayGoOn?(callId: string, store: PluginStore): Promise<boolean>;
  /** The tool is run by a client. Set by Longshore. */
  client?: Pick<ClientTool, 'output' | 'timeoutMs' | 'otherwise'>;
  /** Messages of the user call it when they fit its parameters, as `text`; neither a model nor code can call it. Set by Longshore. */
  isCommand?: true;
  /** It takes part in steps, where nothing calls it as a tool. Set by Longshore. */
  hook?: StepHook;
  /** Outside systems call it, where nothing calls it as a tool. Set by Longshore. */
  webhook?: OfferedWebhook;
  /** The sandbox of `context.sandbox` for a tool with the isolation `own`. Set by Longshore. */
  ownSandbox?: OwnSandbox;
  execute(input: JsonObject, context: ToolContext): Promise<ToolResult>;
}

export interface ToolDefinition<Parameters extends z.ZodType | JsonObject> {
  id: string;
  description: string;
  parameters: Parameters;
  kind?: ToolKind;
  annotations?: ToolAnnotations;
  timeoutMs?: number;
  /** Default `host`, which becomes `compartment` in an isolated process. */
  isolation?: Exclude<Isolation, 'own'>;
  permissions?: Permissions;
  resultSchema?: z.ZodType | JsonObject;
  /** Default `visible`. */
  visibility?: Visibility;
  brief?: string;
  requireApproval?: boolean;
  summarize?(input: Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject): string;
  execute(input: Parameters extends z.ZodType ? z.infer<Parameters> : JsonObject, context: ToolContext): Promise<ToolResult>;
}
