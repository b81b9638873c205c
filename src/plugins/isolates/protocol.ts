import type { ToolContext } from '../api/tool-context.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import { parseForeign } from '../../contracts/foreign-json.ts';

/**
 * What goes between the worker and a plugin's process: one JSON object per line. The process runs code that nobody vouches for, so the worker takes
 * nothing from it but these shapes, for calls that are really under way.
 */
export type ToGuest =
  /**
   * With `describe` the code is evaluated at once and answered by a description; else the first call does that, and the answer is null. `host` is what
   * the plugin's own `load` is given in each compartment, where it has been called before.
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
  /** A call was read; sent before any of its code runs. */
  | { type: 'begun'; id: number }
  /** A call's result. */
  | { type: 'done'; id: number; value: Json }
  | { type: 'failed'; id: number; message: string; problems?: string }
  /** A capability used by a call; answered by `answer` or `refuse`. */
  | { type: 'ask'; id: number; call: number; what: string; args: Json[] }
  /** Told without an answer; `call` 0 is the plugin at large. */
  | { type: 'tell'; call: number; what: 'info' | 'warn' | 'heartbeat'; text: string };

/** A function of the plugin. */
export type CallTarget = { tool: string } | { hook: string };

/** The powers that are part of a compartment's global names; what they reach is judged by the worker at each use. */
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
  /** Within its plugin. */
  tool: string;
  input: JsonObject;
  facts: CallFacts;
  /** What the plugin's own `load` was given; null where it has none. */
  host: Json[] | null;
  /** It may read files of the worker's host. */
  files: boolean;
}

/** A plugin as its process describes it: what JSON can say, and the names of what can only be called. */
export interface Description {
  plugin: JsonObject;
  hooks: string[];
}

/** Longest line in both directions; larger things go in pieces or not at all. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Characters of what is told without an answer; the rest is cut off. */
export const MAX_TOLD = 4_000;
const MAX_TEXT = 100_000;

/** Reads a line of a plugin's process; undefined for whatever is not one of the messages. */
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
    return { type: 'failed', id, message: message.slice(0, MAX_TEXT), ...(typeof problems === 'string' && { problems: problems.slice(0, MAX_TEXT) }) };
  },
  ask: ({ id, call, what, args }) =>
    isId(id) && isId(call) && typeof what === 'string' && Array.isArray(args) ? { type: 'ask', id, call, what, args } : undefined,
  tell({ call, what, text }) {
    if (!isId(call) || typeof text !== 'string') return undefined;
    return what === 'info' || what === 'warn' || what === 'heartbeat' ? { type: 'tell', call, what, text } : undefined;
  },
};

/** A key of this name, with any of its letters written as an escape. A text that ends with it and is a key as well is searched without need. */
const PROTOTYPE_KEY = /__proto__"\s*:|\\u00(?:5f|70|72|6f|74)/i;

function parse(line: string): Json | undefined {
  try {
    const value = parseForeign(line);
    // An own property of this name changes the prototype of whatever it is copied to.
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
