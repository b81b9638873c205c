import type { ToolContext } from '../api/tool-context.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import { parseForeign } from '../../contracts/foreign-json.ts';

/**
 * The messages between the worker and a plugin's process: one JSON object per line. The process runs untrusted code, so the worker accepts only these shapes
 * from it, for calls that are under way.
 */
export type ToGuest =
  /**
   * With `describe` the code is evaluated at once, and the answer is a description. Without it, the first call evaluates the code, and the answer is null.
   * `host` is passed to the plugin's own `load` in each compartment, where `load` has been called before.
   */
  | { type: 'load'; id: number; code: string; grants: Grants; describe: boolean; host: Json[] | null }
  | { type: 'call'; id: number; target: CallTarget; conversation: string; grants: Grants; args: Json[]; facts: CallFacts | null }
  | { type: 'cancel'; id: number }
  | { type: 'answer'; id: number; value: Json }
  | { type: 'refuse'; id: number; message: string }
  | { type: 'ping'; id: number };

export type FromGuest =
  | { type: 'ready' }
  | { type: 'pong'; id: number }
  /** The process has read a call; sent before any code of the call runs. */
  | { type: 'begun'; id: number }
  /** A call's result. */
  | { type: 'done'; id: number; value: Json }
  | { type: 'failed'; id: number; message: string; problems?: string }
  /** A capability used by a call; answered by `answer` or `refuse`. */
  | { type: 'ask'; id: number; call: number; what: string; args: Json[] }
  /** A message without an answer; `call` 0 is the plugin as a whole. */
  | { type: 'tell'; call: number; what: 'info' | 'warn' | 'heartbeat'; text: string };

/** A function of the plugin. */
export type CallTarget = { tool: string } | { hook: string };

/** The powers that are global names of a compartment. The worker judges each use of them. */
export interface Grants {
  time: boolean;
  random: boolean;
  network: boolean;
  files: boolean;
}

/** What a call is told about itself. */
export interface CallFacts extends Pick<ToolContext, 'conversationId' | 'userId' | 'tenantId' | 'agentId' | 'turnId' | 'callId'> {
  env: Record<string, string>;
  config: JsonObject;
}

/** A call of a tool whose code runs in the sandbox. */
export interface SandboxedCall {
  /** Id within its plugin. */
  tool: string;
  input: JsonObject;
  facts: CallFacts;
  /** The arguments of the plugin's own `load`; null where it was not called. */
  host: Json[] | null;
  /** The call may read files of the worker's host. */
  files: boolean;
}

/** A plugin as its process describes it: its JSON fields, and the names of its functions. */
export interface Description {
  plugin: JsonObject;
  hooks: string[];
}

/** Longest line that a process may send, in bytes. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Most characters of a message without an answer; the rest is cut off. */
export const MAX_TOLD = 4_000;
/** Most characters of the message of a call that failed. */
export const MAX_FAILED = 100_000;

/** Reads a line of a plugin's process; undefined for anything that is not one of the messages. */
export function readFromGuest(line: string): FromGuest | undefined {
  const message = parse(line);
  if (message === null || typeof message !== 'object' || Array.isArray(message)) return undefined;
  const type = message['type'];
  return typeof type === 'string' && Object.hasOwn(READERS, type) ? READERS[type]?.(message) : undefined;
}

const READERS: Record<string, (message: JsonObject) => FromGuest | undefined> = {
  ready: () => ({ type: 'ready' }),
  pong: ({ id }) => (isId(id) ? { type: 'pong', id } : undefined),
  begun: ({ id }) => (isId(id) ? { type: 'begun', id } : undefined),
  done: ({ id, value }) => (isId(id) && value !== undefined ? { type: 'done', id, value } : undefined),
  failed({ id, message, problems }) {
    if (!isId(id) || typeof message !== 'string') return undefined;
    return { type: 'failed', id, message: message.slice(0, MAX_FAILED), ...(typeof problems === 'string' && { problems: problems.slice(0, MAX_FAILED) }) };
  },
  ask: ({ id, call, what, args }) =>
    isId(id) && isId(call) && typeof what === 'string' && Array.isArray(args) ? { type: 'ask', id, call, what, args } : undefined,
  tell({ call, what, text }) {
    if (!isId(call) || typeof text !== 'string') return undefined;
    return what === 'info' || what === 'warn' || what === 'heartbeat' ? { type: 'tell', call, what, text } : undefined;
  },
};

/** A key of this name, with any of its letters written as an escape. May also match other text, which is then searched without effect. */
const PROTOTYPE_KEY = /__proto__"\s*:|\\u00(?:5f|70|72|6f|74)/i;

function parse(line: string): Json | undefined {
  try {
    const value = parseForeign(line);
    // An own property of this name changes the prototype of the object to which it is copied.
    if (PROTOTYPE_KEY.test(line)) dropPrototypes(value);
    return value;
  } catch {
    return undefined;
  }
}

function dropPrototypes(value: Json): void {
  if (value === null || typeof value !== 'object') return;
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  for (const inner of Object.values(value)) dropPrototypes(inner);
}

function isId(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
