import { pause } from '../../../../common/pause.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import type { ServerRequest } from '../../../../sandbox/api/host-methods.ts';
import { lookAgain, noteChange, type WatchStore } from './watched-resources.ts';

/** What the conversations of a worker watch over one connection to a server. */
export interface Watching {
  /** Subscribes to what a conversation watches and this connection does not follow yet, in the background. */
  follow(conversationId: string, uris: string[], store: WatchStore): void;
  /** The server says that a resource has changed. */
  updated(uri: string): void;
}

interface Followed {
  conversationId: string;
  uri: string;
  store: WatchStore;
  isTold: boolean;
  isWriting: boolean;
}

/** The one that was followed first makes room for another, and is followed again from the next step of its conversation on. */
const MOST = 2_000;
/** Between two entries about one resource: a server may report changes without end. */
const PAUSE_MS = 200;

export function createWatching(ask: (request: ServerRequest) => Promise<JsonObject>, onProblem: (error: unknown) => void): Watching {
  const followed = new Map<string, Followed>();
  return {
    follow(conversationId, uris, store) {
      for (const one of followed.values()) if (one.conversationId === conversationId && !uris.includes(one.uri)) void leave(one);
      for (const uri of uris) if (!followed.has(keyOf({ conversationId, uri }))) void begin({ conversationId, uri, store, isTold: false, isWriting: false });
    },
    updated(uri) {
      for (const one of followed.values()) {
        if (one.uri !== uri) continue;
        one.isTold = true;
        if (!one.isWriting) void write(one);
      }
    },
  };

  async function begin(one: Followed): Promise<void> {
    const [oldest] = followed.values();
    if (oldest && followed.size >= MOST) followed.delete(keyOf(oldest));
    followed.set(keyOf(one), one);
    try {
      await lookAgain(one.store, one.uri, ask);
    } catch (error) {
      followed.delete(keyOf(one));
      onProblem(error);
    }
  }

  async function leave(one: Followed): Promise<void> {
    followed.delete(keyOf(one));
    if ([...followed.values()].some(({ uri }) => uri === one.uri)) return;
    await ask({ method: 'resources/unsubscribe', params: { uri: one.uri } }).catch(onProblem);
  }

  async function write(one: Followed): Promise<void> {
    one.isWriting = true;
    while (one.isTold) {
      one.isTold = false;
      await noteChange(one.store, one.uri).catch(onProblem);
      await pause(PAUSE_MS);
    }
    one.isWriting = false;
  }
}

function keyOf({ conversationId, uri }: Pick<Followed, 'conversationId' | 'uri'>): string {
  return JSON.stringify([conversationId, uri]);
}
