import type { Duplex } from 'node:stream';
import type { JsonObject } from '../../contracts/json.ts';
import type { AsStarted, CommandResult, RunOptions } from './commands.ts';
import type { MethodAnswer, MethodCall } from './methods.ts';

/** Input of the guest program `run_tool.cjs`. */
export interface ToolRequest {
  /** The tool's id. It is shown as the command of the exec. */
  name: string;
  /** A CommonJS module that exports `run`. */
  code: string;
  /** First argument of `run`. */
  call: JsonObject;
}
export interface RunToolOptions extends Pick<RunOptions, 'signal' | 'isBegun'>, AsStarted {
  execId: string;
  timeoutMs: number;
  /** Called with what the tool reports to the worker: lines of JSON, from the first one on. */
  onTold: (chunk: Buffer) => void;
  onPrint: (chunk: Buffer) => void;
  /** Called with each request of the tool to the worker. */
  onMethodCall: (call: MethodCall) => void;
}

/** An MCP server: a program that speaks the Model Context Protocol over its stdin and stdout. */
export interface SandboxServer {
  /** Unique in the sandbox. */
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  /** Relative paths start at `/home/user`, which is the default. */
  directory?: string;
  /** It is told that it may ask the model. */
  maySample?: true;
}
export interface ServerRequest {
  method: string;
  params: JsonObject;
}
export interface ServerRequestOptions extends Pick<RunOptions, 'execId' | 'timeoutMs' | 'signal' | 'isBegun'>, AsStarted {
  onProgress?: (line: string) => void;
  /** Called with the reason when the server is started again. What the earlier server had in its memory is lost. */
  onRestart?: (why: string) => Promise<void>;
  /** Called with each question of the server during the request. Absent: it can ask nobody. */
  onMethodCall?: (call: MethodCall) => void;
  /** The server may ask whatever it wants, by a channel that it finds in `_meta` of the request. Without this, it asks with requests of the protocol. */
  hasChannel?: boolean;
}
/** What a server says about itself. `offers` and `instructions` come with the answer to `tools/list` only, from sandboxes of this version. */
export interface ServerFacts {
  name: string;
  version: string;
  /** The names of its capabilities. */
  offers?: string[];
  instructions?: string;
}
/**
 * `refused`: the server answered with an error. `absent`: there was no server, and the request was not made. `gone`: the server ended during the request.
 * `timeout` and `killed`: the request was cancelled, and the server is notified.
 */
export type ServerAnswer =
  | { outcome: 'answered'; result: JsonObject; server: ServerFacts }
  | { outcome: 'refused'; code: number; message: string; server?: ServerFacts }
  | { outcome: 'absent' | 'gone'; why: string }
  | { outcome: 'timeout' | 'killed' };

export interface ConnectPortOptions {
  /** Called with the connection once it is made. It is destroyed when the stream to the supervisor breaks. */
  onOpen: (connection: Duplex) => void;
  /** Aborting it ends the connection, and rejects with `INTERRUPTED`. */
  signal: AbortSignal;
}

/** Operations that only a worker needs: it answers code that calls tools, runs tools and MCP servers in the sandbox, and connects to what listens there. */
export interface HostMethods {
  /** Answers a tool call that an exec's code made. Only the first answer counts. */
  answerMethod(execId: string, number: number, answer: MethodAnswer): Promise<void>;
  /**
   * Suspends the time limit of an exec until the call is answered. Returns the position of the call among the held calls of the exec, in the order in which
   * they were first held: 1 for the first. For a call that does not wait any more, returns how many were held.
   */
  holdMethod(execId: string, number: number): Promise<number>;
  /** Ends an exec at a tool call that its code made. None of its code runs after that call. */
  concludeAt(execId: string, number: number): Promise<void>;
  /**
   * Sends a request to an MCP server in the sandbox, and starts the server when it does not run. Two calls with the same `execId` are one request: the second
   * gets the answer of the first.
   */
  callServer(server: SandboxServer, request: ServerRequest, options?: ServerRequestOptions): Promise<ServerAnswer>;
  /** Runs one call of a plugin's tool with Node.js in the sandbox. The request contains the tool's code. Two calls with the same `execId` are one run. */
  runTool(request: ToolRequest, options: RunToolOptions): Promise<CommandResult>;
  /**
   * A text that changes when the tools of an MCP server in the sandbox may have changed. Empty when they have not changed since the server started. Undefined
   * when the server does not run.
   */
  serverMark(name: string): Promise<string | undefined>;
  /** Ends the MCP servers in the sandbox and the processes that they started, except the servers named in `except`. Returns the names of the ended ones. */
  endServers(except: string[]): Promise<string[]>;
  /**
   * Connects to a port on the loopback interface of the sandbox, and resolves when the connection has ended. Rejects with `PORT_CLOSED` when nothing listens
   * there. Meanwhile the sandbox stays awake.
   */
  connectPort(port: number, options: ConnectPortOptions): Promise<void>;
}
