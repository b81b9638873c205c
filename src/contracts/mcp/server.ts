import type { McpOAuth } from './oauth.ts';

/** A server of the Model Context Protocol. `${env.NAME}` in `env`, `headers` and `url` is filled in at each connection, and never stored. */
export type McpServer = McpProgram | McpGuest | McpRemote;

export interface McpLimits {
  /** Time limit of a call, in milliseconds. */
  timeoutMs: number;
  /** Time limits of calls of single tools, by the names that the server gives them. */
  toolTimeoutsMs?: Record<string, number>;
}
/** Whether a server may ask the model of the agent: after a person has allowed each request, or without. */
export type Sampling = 'ask' | 'allow';
/** A server that asks during a call. */
export interface Asking {
  server: string;
  /** Absent: it may ask persons only. */
  sampling?: Sampling;
}
interface McpCommand extends McpLimits {
  /** Absent: it may not ask the model. */
  sampling?: Sampling;
  command: string;
  args: string[];
  env: Record<string, string>;
}
/** A program that is reached over its stdin and stdout. One process runs beside the worker, if the operator allows it. */
export interface McpProgram extends McpCommand {
  where: 'host';
  /** Its working directory; the worker's own directory when absent. */
  directory?: string;
}
/** A program in the sandbox of each conversation that calls it. */
export interface McpGuest extends McpCommand {
  where: 'sandbox';
  /** Its working directory in the sandbox; the sandbox's home when absent. */
  directory?: string;
}
/** A server reached by streamable HTTP. */
export interface McpRemote extends McpLimits {
  url: string;
  headers: Record<string, string>;
  /** Absent: it may not ask the model. */
  sampling?: Sampling;
  oauth?: McpOAuth;
}
