import type { Json } from '../../../contracts/json.ts';
import type { StoreEntry, StoreScope, ToolContext } from '../../tool-context.ts';
import { imageOf, readDataUrl, toBase64 } from './message-parts.ts';

/** The entries of a plugin's store; keys that are left out stand for everybody. */
export interface NekroStore {
  get(entry: StoreKey): Promise<Json | undefined>;
  /** With the version, for a `set` that has to be the next one. */
  entry(entry: StoreKey): Promise<StoreEntry | undefined>;
  /** 0: created, 1: updated, 2: refused, since `ifVersion` (0 for none) is not the version that is there. */
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

/** What a method is given as its first argument. */
export interface AgentCtx extends Pick<ToolContext, 'tenantId' | 'agentId' | 'callId' | 'signal' | 'logger' | 'env' | 'config' | 'fetch'> {
  chatKey: string;
  fromChatKey: string;
  userId: string;
  fromUserId: string;
  adapterKey: 'longshore';
  store: NekroStore;
  fs: {
    /** Puts a URL, a data URL, bytes or a file of the host (below LONGSHORE_FILES) into the sandbox; gives its path there. */
    mixedForwardFile(source: Source, fileName?: string): Promise<string>;
    /** The bytes of a file of the sandbox. */
    getFile(path: string): Promise<Uint8Array>;
  };
  sendText(text: string): Promise<void>;
  /** Bytes, a data URL, or the path of an image in the sandbox. */
  sendImage(image: Source): Promise<void>;
  sendFile(file: Source, name?: string): Promise<void>;
  /** Tells the model something with its next step. With `triggerAgent` there will be one: where the turn ends without it, another turn begins. */
  pushSystem(text: string, options?: { triggerAgent?: boolean }): Promise<void>;
}

export function createAgentContext(context: ToolContext): AgentCtx {
  const { conversationId, userId, tenantId, agentId, callId, signal, logger, env, config, fetch, files, send, note } = context;
  const bytesOf = async (source: Source): Promise<Uint8Array> => {
    if (typeof source !== 'string') return source;
    return source.startsWith('data:') ? readDataUrl(source).bytes : files.get(source);
  };
  return {
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
    adapterKey: 'longshore',
    store: createStore(context),
    fs: {
      mixedForwardFile(source, fileName) {
        const options = fileName === undefined ? {} : { name: fileName };
        if (typeof source !== 'string') return files.put({ bytes: source, name: fileName ?? 'file' }, options);
        if (source.startsWith('data:')) return files.put({ bytes: readDataUrl(source).bytes, name: fileName ?? 'file' }, options);
        return files.put(/^https?:/.test(source) ? { url: source } : { hostPath: source }, options);
      },
      getFile: (path) => files.get(path),
    },
    sendText: (text) => send(text),
    sendImage: async (image) => send(imageOf(await bytesOf(image))),
    async sendFile(file, name) {
      const fileName = name ?? (typeof file === 'string' && !file.startsWith('data:') ? file.split('/').at(-1) : undefined) ?? 'file';
      await send({ type: 'file', mediaType: 'application/octet-stream', name: fileName, data: toBase64(await bytesOf(file)) });
    },
    pushSystem: (text, { triggerAgent = false } = {}) => note(text, { wake: triggerAgent }),
  };
}

function createStore({ store, conversationId, userId }: ToolContext): NekroStore {
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
