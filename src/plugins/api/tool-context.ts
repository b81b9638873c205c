import type { Json, JsonObject } from '../../contracts/json.ts';
import type { Asking } from '../../contracts/mcp/server.ts';
import type { Question, QuestionAnswer } from '../../contracts/questions/question.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { CommandResult, ExecInfo } from '../../sandbox/api/commands.ts';
import type { CodeResult, RunCodeOptions } from '../../sandbox/api/code.ts';
import type { SandboxServer, ServerAnswer, ServerRequest, ServerRequestOptions, ToolRequest } from '../../sandbox/api/host-methods.ts';
import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import type { HostOfQuestion, ServerQuestion } from './server-question.ts';

/** What a tool is given besides its arguments. The host sets the ids; a model cannot forge them. */
export interface ToolContext {
  conversationId: string;
  userId: string;
  tenantId: string;
  agentId: string;
  turnId: string;
  /** The idempotency key of this call. */
  callId: string;
  /** Aborts when the call must end. */
  signal: AbortSignal;
  logger: { info(message: string, values?: object): void; warn(message: string, values?: object): void };
  /** Shows progress in the Temporal UI; at most 200 characters. */
  heartbeat(this: void, progress: string): void;
  /**
   * The conversation's sandbox, for tools with `isolation: 'container'`. Run commands through `exec`: it names them after this call,
   * so that a repeated `execute` attaches to what it started before instead of running it again.
   */
  sandbox: ToolSandbox;
  /** The environment variables that the plugin or the tool declares and the worker has; as they were when the call began. */
  env: Readonly<Record<string, string>>;
  /** The plugin's configuration. */
  config: JsonObject;
  store: PluginStore;
  files: ToolFiles;
  /** Fetches from the hosts of `permissions.network` and from no others. */
  fetch(this: void, url: string | URL, init?: RequestInit): Promise<Response>;
  /** Sends a message to the user at once, before the call has a result. The model reads it with the tool's result. */
  send(this: void, part: string | ContentPart): Promise<void>;
  /** The newest message of the user in the turn of this call. */
  message(this: void): Promise<UserMessage | undefined>;
  /**
   * Adds a note that the model reads in its next step. With `wake`, the note starts another turn if the turn ends without such a step: one turn for all
   * notes of a call and all attempts at it. If the turn is stopped, interrupted or cancelled, no turn is started.
   */
  note(this: void, text: string, options?: { wake?: boolean }): Promise<void>;
  /**
   * Asks the person behind the conversation on behalf of a server, and waits for the answer: for up to a day, which is not counted in the time limit of the call.
   * Only for MCP servers outside the sandbox; absent where no person can be asked. `after`: how many questions the call has asked before, where another attempt does
   * not ask them again.
   */
  askPerson?(this: void, question: Question, signal: AbortSignal, after?: number): Promise<QuestionAnswer>;
  /** The model of the agent, for a server that asks it. What it uses counts as used by the conversation. Only for MCP servers outside the sandbox. */
  model?: { name: string; ask: HostOfQuestion['askModel'] };
}

export interface UserMessage {
  /** All text parts, joined by line breaks. */
  text: string;
  content: ContentPart[];
  /** ISO 8601, UTC. */
  at: string;
}

export interface ToolSandbox {
  handle(): Promise<SandboxHandle>;
  /** Runs a command once for this call, also if `execute` is repeated: the n-th `exec` of a call always has the same id. Its output goes to the events. */
  exec(
    command: string,
    options?: {
      cwd?: string;
      env?: Record<string, string>;
      /** A user that the sandbox's template declares; default `user`. */
      user?: string;
      stdin?: string | Uint8Array;
      timeoutMs?: number;
      /** Keeps the output out of the events. */
      quiet?: boolean;
      /** Lets its code call the tools of the conversation. */
      methods?: boolean;
    },
  ): Promise<CommandResult>;
  /** Runs a piece of code once for this call, named as `exec` names commands. What it prints goes to the events. */
  runCode(
    code: string,
    options: Pick<RunCodeOptions, 'language' | 'contextId' | 'cwd' | 'user' | 'env' | 'timeoutMs'> & { methods?: boolean },
  ): Promise<CodeResult>;
  /**
   * Sends a request to an MCP server in the sandbox once for this call, named as `exec` names commands; the server is started if it does not run.
   * With `asks`, the server may ask the person behind the conversation, and the model if that says so. Not available in compartments.
   */
  callServer(
    server: SandboxServer,
    request: ServerRequest,
    options?: Pick<ServerRequestOptions, 'timeoutMs' | 'onProgress' | 'onRestart'> & {
      /** The server, which may ask a person with `elicitation/create`, and with `sampling` the model with `sampling/createMessage`. */
      asks?: Asking;
      /** Answers a question that the server asks about this request. An error that this throws is the answer. A question may come again when a worker has ended. */
      ask?: (question: ServerQuestion) => Promise<Json>;
    },
  ): Promise<ServerAnswer>;
  /** Runs the code of a tool in the sandbox once for this call, named as `exec` names commands. Not available in compartments. */
  runTool(run: SandboxedRun): Promise<CommandResult>;
  /** Starts a command that outlives the call. */
  start(command: string, options?: { cwd?: string; env?: Record<string, string>; user?: string; timeoutMs?: number }): Promise<ExecInfo>;
}

/** Code of a tool that is to run in the sandbox. */
export interface SandboxedRun {
  request: ToolRequest;
  timeoutMs: number;
  /** Receives what the code reports, as lines of JSON, always from the beginning of the run. */
  onTold: (chunk: Buffer) => void;
  /** Answers a request of the code. An error that this throws is thrown in the code. */
  ask: (question: SandboxedQuestion) => Promise<Json>;
}
export interface SandboxedQuestion extends Pick<ToolContext, 'send' | 'note'>, Pick<ToolSandbox, 'exec' | 'runCode' | 'start'> {
  what: string;
  args: Json[];
  /** Number of the question within its call, the same for every worker that is asked. `send`, `note`, `exec` and the like take effect once for it. */
  number: number;
  /** An earlier worker got this question and ended. How much of it was done is not known. */
  repeated: boolean;
}

/**
 * Who shares an entry of a plugin's store: this user in this conversation, all users of this conversation, this user in all conversations,
 * or all of the tenant. A plugin never sees entries of another plugin or another tenant. Entries of a conversation are deleted with it.
 */
export type StoreScope = 'conversation-user' | 'conversation' | 'user' | 'plugin';

export interface StoreEntry {
  value: Json;
  /** A whole number above 0. It changes with each write and is never used again. */
  version: number;
}

/** A plugin's keys and JSON values. The default scope is `conversation-user`. */
export interface PluginStore {
  get(key: string, scope?: StoreScope): Promise<Json | undefined>;
  entry(key: string, scope?: StoreScope): Promise<StoreEntry | undefined>;
  /** With `ifVersion` it replaces only that version (0: writes only if there is no entry), else it returns `conflict`. The entry expires after `ttlMs`. */
  set(key: string, value: Json, options?: { scope?: StoreScope; ttlMs?: number; ifVersion?: number }): Promise<'created' | 'updated' | 'conflict'>;
  /** True if the entry existed. */
  delete(key: string, scope?: StoreScope): Promise<boolean>;
  /** Keys that begin with the prefix, sorted. */
  list(prefix?: string, scope?: StoreScope): Promise<string[]>;
}

/** Files of the conversation's sandbox. All work on a path of the sandbox is done inside it, as its user. */
export interface ToolFiles {
  /**
   * Puts a file into the sandbox and returns its path there. A URL is fetched under `permissions.network`; a host path must be in the directory
   * that the operator allows. `directory` is a directory of the sandbox, by default `/home/user/files`.
   */
  put(source: FileSource, options?: { name?: string; directory?: string }): Promise<string>;
  /** Reads a file of the sandbox; one larger than `maxBytes` (default 20 MB) is refused. */
  get(path: string, options?: { maxBytes?: number }): Promise<Uint8Array>;
}

export type FileSource = { url: string } | { bytes: Uint8Array; name: string } | { hostPath: string };
