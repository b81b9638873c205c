import { setTimeout as sleep } from 'node:timers/promises';
import type { McpProgram, McpRemote } from '../../contracts/agent.ts';
import { deferred } from '../../deferred.ts';
import type { Logger } from '../../log.ts';
import type { Plugin } from '../define-plugin.ts';
import { createCaller } from './call-server.ts';
import { openSession, type Session } from './open-session.ts';
import { openTransport } from './open-transport.ts';
import { createServerPlugin } from './server-plugin.ts';

/** A server that is connected to by the worker itself, for all conversations. */
export interface ConnectedServer extends AsyncDisposable {
  plugin: () => Plugin;
  /** Resolves when it was connected to for the first time, or could not be. */
  started: Promise<void>;
}

export interface ServerParts {
  name: string;
  server: McpProgram | McpRemote;
  readEnvironment: (name: string) => string | undefined;
  log: Logger;
  /** Told of the plugin whenever its tools are others. */
  onChange: (plugin: Plugin) => void;
  /** Longest pause between two attempts at a server that is gone. Default 30 000. */
  maxPauseMs?: number;
}

const FIRST_PAUSE_MS = 250;
/** A server that lived so long did not end because of its start. */
const STEADY_MS = 60_000;

/** Keeps a server connected: one that ends is started again, after pauses that grow, and its plugin tells so. */
export function connectServer(parts: ServerParts): ConnectedServer {
  const { name, server, log, onChange, maxPauseMs = 30_000 } = parts;
  const closed = new AbortController();
  let session: Session | undefined;
  let next = deferred<Session>();
  const lastAlert = () => published.plugin().alerts.at(-1)?.text;
  const run = createCaller({ name, limits: server, session: () => session ?? next.promise, lastAlert });
  const restart = () => void session?.close('an operator asked for it');
  const published = createServerPlugin({ name, limits: server, log, run, onChange, restart });
  const first = deferred<void>();
  const kept = keepConnected();
  return {
    plugin: published.plugin,
    started: first.promise,
    async [Symbol.asyncDispose]() {
      closed.abort();
      await session?.close('the worker ends');
      await kept;
    },
  };

  async function keepConnected(): Promise<void> {
    for (let failures = 0; !closed.signal.aborted; failures += 1) {
      const begun = performance.now();
      const why = await liveOnce(failures > 0);
      first.resolve();
      if (closed.signal.aborted) break;
      if (performance.now() - begun > STEADY_MS) failures = 0;
      published.fail(`${why.slice(0, 1000)}; it is tried again`);
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** failures, maxPauseMs), undefined, { signal: closed.signal }).catch(() => undefined);
    }
  }

  /** One life of the connection; gives the reason of its end. */
  async function liveOnce(again: boolean): Promise<string> {
    let opened: Session | undefined;
    try {
      const refresh = createRefresh(async () => opened && published.take(opened.server.version, await opened.tools()), log);
      opened = await openSession(openTransport(name, server, parts.readEnvironment), refresh);
      if (closed.signal.aborted) await opened.close('the worker ends');
      published.take(opened.server.version, await opened.tools());
    } catch (error) {
      await opened?.close('its tools could not be listed');
      return `The server cannot be used: ${(error as Error).message}`;
    }
    session = opened;
    next.resolve(opened);
    if (again) published.recover('The server is there again');
    first.resolve();
    const why = await opened.ended;
    session = undefined;
    next = deferred();
    return `The server has ended (${why})`;
  }
}

/** Runs one refresh at a time; however many are asked for meanwhile, one more follows. */
function createRefresh(refresh: () => Promise<unknown>, log: Logger): () => void {
  let running = false;
  let wanted = false;
  const work = async (): Promise<void> => {
    running = true;
    while (wanted) {
      wanted = false;
      await refresh().catch((error: unknown) => log.warn({ err: error }, 'the tools of an MCP server could not be listed'));
      await sleep(100, undefined, { ref: false });
    }
    running = false;
  };
  return () => {
    wanted = true;
    if (!running) void work();
  };
}
