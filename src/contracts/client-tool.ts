import type { JsonObject } from './json.ts';

/** Id of the plugin to which the tools of clients belong. */
export const CLIENT_PLUGIN = 'client';

/** The names that clients and model providers accept. */
export const CLIENT_TOOL_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Largest result that a client may give, in bytes of JSON. */
export const MAX_CLIENT_RESULT_BYTES = 1_000_000;
/** How long a client holds a call before it has to say that it still works. Milliseconds. */
export const DEFAULT_LEASE_MS = 30_000;
export const MAX_LEASE_MS = 300_000;

/** What happens when no result has come in time. `unavailable`: the model is told and goes on. `fail`: the turn fails. */
export type ClientToolExpiry = 'unavailable' | 'fail';

/** A tool that a client runs, such as a page, an editor or a service that has the conversation open. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type ClientTool = {
  description: string;
  /** JSON Schema of the arguments, an object. */
  parameters: JsonObject;
  /** JSON Schema of the result; absent: any JSON value. */
  output?: JsonObject;
  /** Milliseconds in which a result has to come. 0: it is waited for without limit. */
  timeoutMs: number;
  otherwise: ClientToolExpiry;
  requireApproval: boolean;
};

/** Tools of clients by the names under which they know them. */
export type ClientTools = Record<string, ClientTool>;

/** How many tools a request may declare, and how long they may be as JSON. */
export const MAX_REQUESTED_TOOLS = 64;
export const MAX_REQUESTED_CHARACTERS = 65_536;

/** Whether a client runs a call. */
export interface RunByClient {
  client?: true;
}

/** Why the turn fails with the call. */
export interface TurnFailure {
  failsTurn?: string;
}

/** For how long a call waits for a client. */
export interface TimeLeft {
  /** Milliseconds; absent without a limit. */
  leftMs?: number;
}

/** Tells a conversation that a client has given the result of a call. */
export interface ClientAnsweredArgs {
  callId: string;
}

/** A call that waits for a client, as the status of its conversation shows it. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type WaitingCall = {
  callId: string;
  tool: string;
  /** Absent when it waits without limit. */
  expiresAtMs?: number;
};

/** A call that a client may take. */
export interface ClientCall {
  callId: string;
  /** Name of the tool, as its declaration has it. */
  name: string;
  /** ISO 8601, UTC. */
  askedAt: string;
  /** No result is taken any more then. ISO 8601, UTC; absent when it waits without limit. */
  deadline?: string;
  /** A client has the call until then. ISO 8601, UTC. */
  heldUntil?: string;
}

/** A call that a client has taken. */
export interface ClaimedCall extends ClientCall {
  arguments: JsonObject;
}

/** Full id of a client's tool. */
export function clientToolId(name: string): string {
  return `${CLIENT_PLUGIN}:${name}`;
}

export function isClientTool(tool: string): boolean {
  return tool.startsWith(`${CLIENT_PLUGIN}:`);
}

/** The name under which a client knows a tool. */
export function nameOfClientTool(tool: string): string {
  return tool.slice(CLIENT_PLUGIN.length + 1);
}
