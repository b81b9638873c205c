import type { Json, JsonObject } from '../../../contracts/json.ts';
import type { CallFacts } from '../guest-protocol.ts';
import { logTextOf } from './log-text-of.ts';
import type { GuestAbortSignal } from './web/abort.ts';
import { fromBase64, toBase64 } from './web/base64.ts';
import { GuestRequest, requestContent } from './web/request.ts';
import { bytesOf } from './web/text-codecs.ts';
import { responseOf, type SentResponse } from './web/response.ts';

/** The connection of one call to the worker. */
export interface Line {
  ask: (what: string, args: unknown[]) => Promise<Json>;
  tell: (what: 'info' | 'warn' | 'heartbeat', text: string) => void;
}

/** The context of a tool. Each method asks the worker, which judges the request by the plugin's permissions. */
export function createCallContext(facts: CallFacts, signal: GuestAbortSignal | AbortSignal, { ask, tell }: Line, read?: ReadRequest): object {
  const log = (what: 'info' | 'warn') => (message: unknown, values?: unknown) =>
    tell(what, values === undefined ? logTextOf(message) : `${logTextOf(message)} ${logTextOf(values)}`);
  const [info, warn] = [log('info'), log('warn')];
  const { conversationId, userId, tenantId, agentId, turnId, callId, env, config } = facts;
  // Not frozen: it belongs to this one call, and to freeze it took longer than all the rest. The facts are not spread into it either: keys that follow a spread
  // are added one by one, which took as long.
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
    // `log` and `error` are names in the loggers of other systems.
    logger: { info, warn, log: info, debug: info, error: warn },
    heartbeat: (progress: unknown) => tell('heartbeat', logTextOf(progress)),
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
        throw new Error('sandbox.handle() is not available to plugins in isolated processes; use sandbox.exec, runCode or start');
      },
      callServer: async () => {
        throw new Error('sandbox.callServer() is not available to plugins in isolated processes; agents name their servers under "mcp"');
      },
    },
  };
}

/** A request as it is sent to the worker. */
export interface SentRequest {
  url: string;
  method: string;
  redirect: string;
  headers: Iterable<[string, string]>;
  body: Uint8Array | undefined;
  signal: unknown;
}

export type ReadRequest = (url: unknown, init: unknown) => SentRequest | Promise<SentRequest>;

/** Reads a request of code in a compartment, which has only our classes. */
export function readRequest(url: unknown, init: unknown): SentRequest {
  const request = new GuestRequest(url, init ?? {});
  const { method, redirect, headers, signal } = request;
  return { url: request.url, method, redirect, headers, body: requestContent(request)?.bytes, signal };
}

/** Sends a request through the worker, which may refuse it. The body is sent as bytes. */
export async function fetchThrough(ask: Line['ask'], url: unknown, init: unknown, read: ReadRequest = readRequest): Promise<unknown> {
  const request = await read(url, init);
  const { method, redirect, body, signal } = request;
  const { aborted = false, reason } = (signal ?? {}) as Partial<GuestAbortSignal>;
  if (aborted) throw reason;
  const sent = { method, redirect, headers: [...request.headers], body: body && toBase64(body) };
  const answer = ask('fetch', [request.url, sent]).then((given) => responseOf(given as unknown as SentResponse));
  return signal === undefined || signal === null ? answer : unlessAborted(answer, signal as GuestAbortSignal);
}

/** Leaves no listener: a signal may be used for many requests. */
function unlessAborted<Answer>(answer: Promise<Answer>, signal: GuestAbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    void answer.then(resolve, reject).then(() => signal.removeEventListener('abort', abort));
  });
}

/** Bytes go to the worker as base 64, in a field with the suffix `Base64`. */
function withText(options: unknown, name: string): unknown {
  const given = (options as Record<string, unknown> | undefined)?.[name];
  const bytes = bytesOf(given);
  return bytes ? { ...(options as object), [name]: undefined, [`${name}Base64`]: toBase64(bytes) } : options;
}

/** JSON has no undefined; the worker wraps the value that it found. */
function presentOf(found: Json): unknown {
  return found === null ? undefined : (found as JsonObject)['found'];
}
