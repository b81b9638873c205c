import type { JsonObject } from '../../contracts/json.ts';
import type { AsStarted, CommandResult, RunOptions } from './commands.ts';
import type { MethodAnswer, MethodCall } from './methods.ts';

/** What guest/run_tool.cjs is given. */
export interface ToolRequest {
  /** The tool's id, by which the exec is listed. */
  name: string;
  /** A CommonJS module that exports `run`. */
  code: string;
  /** For `run`. */
  call: JsonObject;
}
export interface RunToolOptions extends Pick<RunOptions, 'signal' | 'isBegun'>, AsStarted {
  execId: string;
  timeoutMs: number;
  /** Given what it tells the worker, lines of JSON, from the beginning. */
  onTold: (chunk: Buffer) => void;
  onPrint: (chunk: Buffer) => void;
  /** Told what it asks of the worker. */
  onMethodCall: (call: MethodCall) => void;
}

/** A program that speaks the Model Context Protocol over its stdin and stdout. */
export interface SandboxServer {
  /** A sandbox has one of each name. */
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  /** Relative ones start at `/home/user`, the default. */
  directory?: string;
}
export interface ServerRequest {
  method: string;
  params: JsonObject;
}
export interface ServerRequestOptions extends Pick<RunOptions, 'execId' | 'timeoutMs' | 'signal'>, AsStarted {
  onProgress?: (line: string) => void;
  /** Told when the server was started anew, with the reason: what it had in its memory is gone. */
  onRestart?: (why: string) => Promise<void>;
}
/** `refused`: an error of the server. `absent`: there was no server, and nothing was asked. `gone`: it ended in the midst of it. A server is told of a request that runs out of time or is killed. */
export type ServerAnswer =
  | { outcome: 'answered'; result: JsonObject; server: { name: string; version: string } }
  | { outcome: 'refused'; code: number; message: string }
  | { outcome: 'absent' | 'gone'; why: string }
  | { outcome: 'timeout' | 'killed' };

/** What only a worker does with a sandbox: it answers code that calls tools, and runs tools and MCP servers in it. */
export interface HostMethods {
  /** Answers a call that an exec's code made of a tool; only the first answer counts. */
  answerMethod(execId: string, number: number, answer: MethodAnswer): Promise<void>;
  /** Stops the time limit of an exec until the call is answered; returns how many calls of the exec have been held, in the order of their first time. */
  holdMethod(execId: string, number: number): Promise<number>;
  /** Ends an exec at a call that its code made: no code of it runs after that. */
  concludeAt(execId: string, number: number): Promise<void>;
  /**
   * Makes a request of an MCP server that lives in the sandbox, and starts the server where it does not run. The same `execId` twice is one request:
   * the second is given the answer of the first.
   */
  callServer(server: SandboxServer, request: ServerRequest, options?: ServerRequestOptions): Promise<ServerAnswer>;
  /** Runs a call of a plugin's tool, whose code comes with it, in a Node of the sandbox. The same `execId` twice is one run. */
  runTool(request: ToolRequest, options: RunToolOptions): Promise<CommandResult>;
  /**
   * A text that is another one as soon as the tools of an MCP server in the sandbox may be others; empty while they are those that it began with.
   * Undefined where it does not run.
   */
  serverMark(name: string): Promise<string | undefined>;
  /** Ends the MCP servers in the sandbox, with what they have started, but for those of these names. Returns the names of those it ended. */
  endServers(except: string[]): Promise<string[]>;
}
