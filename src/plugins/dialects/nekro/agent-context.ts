import type { Json } from '../../../contracts/json.ts';
import type { StoreEntry, StoreScope, ToolContext } from '../../api/tool-context.ts';
import { absentOf } from './absent.ts';
import { imageOf, readDataUrl, toBase64 } from './methods/message-parts.ts';

/** The entries of a plugin's store. An entry without a key for the chat or the user is shared. */
export interface NekroStore {
  get(entry: StoreKey): Promise<Json | undefined>;
  /** The value with its version, for a `set` that must follow this version. */
  entry(entry: StoreKey): Promise<StoreEntry | undefined>;
  /** 0: created, 1: updated, 2: refused, because `ifVersion` (0: no entry) is not the current version. */
  set(entry: StoreKey & { value: Json; ttlMs?: number; ifVersion?: number }): Promise<0 | 1 | 2>;
  /** 0: deleted, 1: there was none. */
  delete(entry: StoreKey): Promise<0 | 1>;
}

export interface StoreKey {
  /** This conversation's `ctx.chatKey`, or nothing: shared by all conversations. */
  chatKey?: string;
  /** This user's `ctx.userId`, or nothing: shared by all users. */
  userKey?: string;
  storeKey: string;
}

type Source = string | Uint8Array;

/** The first argument of a method. */
export interface AgentCtx extends Pick<ToolContext, 'tenantId' | 'agentId' | 'callId' | 'signal' | 'logger' | 'env' | 'config' | 'fetch'> {
  chatKey: string;
  fromChatKey: string;
  userId: string;
  fromUserId: string;
  adapterKey: 'longshore';
  store: NekroStore;
  fs: {
    /** Puts a URL, a data URL, bytes or a file of the host (below LONGSHORE_FILES) into the sandbox; returns its path there. */
    mixedForwardFile(source: Source, fileName?: string): Promise<string>;
    /** Puts a file of the host (below LONGSHORE_FILES) into the sandbox; returns its path there. */
    forwardFile(hostPath: string, fileName?: string): Promise<string>;
    /** The bytes of a file of the sandbox. */
    getFile(path: string): Promise<Uint8Array>;
    /** The directory of the sandbox in which forwarded files are. */
    sharedPath: string;
  };
  sendText(text: string): Promise<void>;
  /** Bytes, a data URL, or the path of an image in the sandbox. */
  sendImage(image: Source): Promise<void>;
  sendFile(file: Source, name?: string): Promise<void>;
  /** The same as `message`. */
  ms: typeof message;
  /** Gives the model a note with its next step. With `triggerAgent` there is always a next step: where the turn ends without one, another turn begins. */
  pushSystem(text: string, options?: { triggerAgent?: boolean }): Promise<void>;
}

type Told = Pick<AgentCtx, 'chatKey' | 'sendText' | 'sendImage' | 'sendFile'>;

/** Sends something to the user, as the methods of the context do. The given conversation must be that of the context. */
export const message = {
  sendText: async (chatKey: string, text: string, ctx: Told) => ownContext(chatKey, ctx).sendText(text),
  sendImage: async (chatKey: string, image: Source, ctx: Told) => ownContext(chatKey, ctx).sendImage(image),
  sendFile: async (chatKey: string, file: Source, ctx: Told) => ownContext(chatKey, ctx).sendFile(file),
};

function ownContext(chatKey: string, ctx: Told | undefined): Told {
  if (ctx?.chatKey === undefined) throw new Error('the last argument has to be the context of the method');
  if (chatKey !== ctx.chatKey) throw new Error(`nothing can be sent to another conversation ("${chatKey}") from this one`);
  return ctx;
}

const SHARED_PATH = '/home/user/files';
const FILES = absentOf('ctx.fs', ['mixedForwardFile', 'forwardFile', 'getFile', 'sharedPath']);
const CONTEXT = absentOf('ctx', ['chatKey', 'fromChatKey', 'userId', 'fromUserId', 'adapterKey', 'sendText', 'sendImage', 'sendFile', 'pushSystem']);

export function createAgentContext(context: ToolContext): AgentCtx {
  const { conversationId, userId, tenantId, agentId, callId, signal, logger, env, config, fetch, files, send, note } = context;
  const bytesOf = async (source: Source): Promise<Uint8Array> => {
    if (typeof source !== 'string') return bytesIn(source);
    return source.startsWith('data:') ? readDataUrl(source).bytes : files.get(source);
  };
  return Object.assign(Object.create(CONTEXT) as object, {
    tenantId,
    agentId,
    callId,
    signal,
    logger,
    env,
    config,
    fetch,
    chatKey: conversationId,
    fromChatKey: conversationId,
    userId,
    fromUserId: userId,
    adapterKey: 'longshore' as const,
    store: createStore(context),
    fs: filesOf(files),
    ms: message,
    sendText: (text: string) => send(text),
    sendImage: async (image: Source) => send(imageOf(await bytesOf(image))),
    async sendFile(file: Source, name?: string) {
      const fileName = name ?? (typeof file === 'string' && !file.startsWith('data:') ? file.split('/').at(-1) : undefined) ?? 'file';
      await send({ type: 'file', mediaType: 'application/octet-stream', name: fileName, data: toBase64(await bytesOf(file)) });
    },
    pushSystem: (text: string, { triggerAgent = false }: { triggerAgent?: boolean } = {}) => note(text, { wake: triggerAgent }),
  });
}

function filesOf(files: ToolContext['files']): AgentCtx['fs'] {
  const named = (name: string | undefined) => (name === undefined ? {} : { name });
  return Object.assign(Object.create(FILES) as object, {
    async mixedForwardFile(source: Source, fileName?: string) {
      const options = named(fileName);
      if (typeof source !== 'string') return files.put({ bytes: bytesIn(source), name: fileName ?? 'file' }, options);
      if (source.startsWith('data:')) return files.put({ bytes: readDataUrl(source).bytes, name: fileName ?? 'file' }, options);
      return files.put(/^https?:/.test(source) ? { url: source } : { hostPath: source }, options);
    },
    forwardFile: async (hostPath: string, fileName?: string) => files.put({ hostPath }, named(fileName)),
    getFile: (path: string) => files.get(path),
    sharedPath: SHARED_PATH,
  });
}

/** Checks the value, because a plugin that runs has no types. */
function bytesIn(given: unknown): Uint8Array {
  if (given instanceof Uint8Array) return given;
  if (given instanceof ArrayBuffer) return new Uint8Array(given);
  throw new Error(`a file is given as a text (a URL or a path) or as bytes (a Uint8Array), not as ${given === null ? 'null' : typeof given}`);
}

export function createStore({ store, conversationId, userId }: Pick<ToolContext, 'store' | 'conversationId' | 'userId'>): NekroStore {
  const scopeOf = ({ chatKey = '', userKey = '' }: StoreKey): StoreScope => {
    if (chatKey !== '' && chatKey !== conversationId) throw new Error(`the store has no entries of another conversation ("${chatKey}") for this one`);
    if (userKey !== '' && userKey !== userId) throw new Error(`the store has no entries of another user ("${userKey}") for this one`);
    if (chatKey !== '') return userKey === '' ? 'conversation' : 'conversation-user';
    return userKey === '' ? 'plugin' : 'user';
  };
  return {
    get: async (entry) => store.get(entry.storeKey, scopeOf(entry)),
    entry: async (entry) => store.entry(entry.storeKey, scopeOf(entry)),
    async set({ value, ttlMs, ifVersion, ...entry }) {
      const limits = { ...(ttlMs !== undefined && { ttlMs }), ...(ifVersion !== undefined && { ifVersion }) };
      const outcome = await store.set(entry.storeKey, value, { scope: scopeOf(entry), ...limits });
      return ({ created: 0, updated: 1, conflict: 2 } as const)[outcome];
    },
    delete: async (entry) => ((await store.delete(entry.storeKey, scopeOf(entry))) ? 0 : 1),
  };
}
