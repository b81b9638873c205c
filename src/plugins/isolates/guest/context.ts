import type { Json, JsonObject } from '../../../contracts/json.ts';
import type { CallFacts } from '../protocol.ts';
import { textOf } from './text-of.ts';
import type { GuestAbortSignal } from './web/abort.ts';
import { fromBase64, toBase64 } from './web/base64.ts';
import { GuestRequest, requestContent } from './web/request.ts';
import { bytesOf } from './web/text-codecs.ts';
import { responseOf, type Answer } from './web/response.ts';

/** The way of one call to the worker. */
export interface Line {
  ask: (what: string, args: unknown[]) => Promise<Json>;
  tell: (what: 'info' | 'warn' | 'heartbeat', text: string) => void;
}

/** What a tool is given besides its arguments. Each method is a question to the worker, which decides by what the plugin was granted. */
export function createContext(facts: CallFacts, signal: GuestAbortSignal | AbortSignal, { ask, tell }: Line, read?: ReadRequest): object {
  const log = (what: 'info' | 'warn') => (message: unknown, values?: unknown) =>
    tell(what, values === undefined ? textOf(message) : `${textOf(message)} ${textOf(values)}`);
  const [info, warn] = [log('info'), log('warn')];
  const { conversationId, userId, tenantId, agentId, turnId, callId, env, config } = facts;
  // Not frozen: it belongs to this one call, and freezing it took longer than all the rest. Nor are the facts spread into it: what follows a spread is
  // added key by key, which took as long.
  return {
    conversationId,
    userId,
    tenantId,
    agentId,
    turnId,
    callId,
    env,
    config,
    signal,
    // `log` and `error` are names that loggers of other systems have.
    logger: { info, warn, log: info, debug: info, error: warn },
    heartbeat: (progress: unknown) => tell('heartbeat', textOf(progress)),
    fetch: (url: unknown, init?: unknown) => fetchThrough(ask, url, init, read),
    send: async (part: unknown) => void (await ask('send', [part])),
    message: async () => (await ask('message', [])) ?? undefined,
    note: async (text: unknown, options?: unknown) => void (await ask('note', [text, options])),
    store: {
      get: async (key: unknown, scope?: unknown) => presentOf(await ask('store.get', [key, scope])),
      entry: async (key: unknown, scope?: unknown) => presentOf(await ask('store.entry', [key, scope])),
      set: (key: unknown, value: unknown, options?: unknown) => ask('store.set', [key, value, options]),
      delete: (key: unknown, scope?: unknown) => ask('store.delete', [key, scope]),
      list: (prefix?: unknown, scope?: unknown) => ask('store.list', [prefix, scope]),
    },
    files: {
      put: (source: unknown, options?: unknown) => ask('files.put', [withText(source, 'bytes'), options]),
      get: async (path: unknown, options?: unknown) => fromBase64((await ask('files.get', [path, options])) as string),
    },
    sandbox: {
      exec: (command: unknown, options?: unknown) => ask('sandbox.exec', [command, withText(options, 'stdin')]),
      runCode: (code: unknown, options?: unknown) => ask('sandbox.runCode', [code, options]),
      start: (command: unknown, options?: unknown) => ask('sandbox.start', [command, options]),
      handle: async () => {
        throw new Error('sandbox.handle() is not for plugins that are fenced; use sandbox.exec, runCode or start');
      },
      callServer: async () => {
        throw new Error('sandbox.callServer() is not for plugins that are fenced; agents name their servers under "mcp"');
      },
    },
  };
}

/** A request as the worker is asked for it. */
export interface SentRequest {
  url: string;
  method: string;
  redirect: string;
  headers: Iterable<[string, string]>;
  body: Uint8Array | undefined;
  signal: unknown;
}

export type ReadRequest = (url: unknown, init: unknown) => SentRequest | Promise<SentRequest>;

/** Reads the request of code in a compartment, which has no other classes than ours. */
export function readRequest(url: unknown, init: unknown): SentRequest {
  const request = new GuestRequest(url, init ?? {});
  const { method, redirect, headers, signal } = request;
  return { url: request.url, method, redirect, headers, body: requestContent(request)?.bytes, signal };
}

/** Sends a request with its body as bytes through the worker, which may refuse to. */
export async function fetchThrough(ask: Line['ask'], url: unknown, init: unknown, read: ReadRequest = readRequest): Promise<unknown> {
  const request = await read(url, init);
  const { method, redirect, body, signal } = request;
  const { aborted = false, reason } = (signal ?? {}) as Partial<GuestAbortSignal>;
  if (aborted) throw reason;
  const sent = { method, redirect, headers: [...request.headers], body: body && toBase64(body) };
  const answer = ask('fetch', [request.url, sent]).then((given) => responseOf(given as unknown as Answer));
  if (signal === undefined || signal === null) return answer;
  const cut = new Promise((_resolve, reject) => {
    (signal as GuestAbortSignal).addEventListener('abort', () => reject((signal as GuestAbortSignal).reason), { once: true });
  });
  return Promise.race([answer, cut]);
}

/** Bytes go to the worker as base 64, under a name that says so. */
function withText(options: unknown, name: string): unknown {
  const given = (options as Record<string, unknown> | undefined)?.[name];
  const bytes = bytesOf(given);
  return bytes ? { ...(options as object), [name]: undefined, [`${name}Base64`]: toBase64(bytes) } : options;
}

/** JSON has no undefined; the worker wraps what it found. */
function presentOf(found: Json): unknown {
  return found === null ? undefined : (found as JsonObject)['found'];
}
