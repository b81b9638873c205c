import type { FetchLike } from '@modelcontextprotocol/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { anySignal } from '../../../common/any-signal.ts';
import { cutMiddle } from '../../../contracts/visible-text.ts';
import type { McpProgram, McpRemote } from '../../../contracts/mcp/server.ts';
import { deferred } from '../../../common/deferred.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Plugin } from '../../api/define-plugin.ts';
import { createAuthorizedFetch } from '../../../oauth/authorized-fetch.ts';
import { createWorkerTokens } from '../../../oauth/worker-tokens.ts';
import { createCaller } from './call-server.ts';
import type { Remembered } from './connection/generation.ts';
import { fillInServer } from './connection/fill-in-server.ts';
import { logOf } from './connection/heard.ts';
import { statusIn } from './connection/http-words.ts';
import { openSession, type Session } from './connection/open-session.ts';
import { openTransport } from './connection/open-transport.ts';
import { createRunningCalls } from '../../../common/calls/running-calls.ts';
import { createRefresh } from './refresh.ts';
import { createServerPlugin, type ServerPlugin } from './server-plugin.ts';
import type { RunServerTool } from './server-tools.ts';
import { credentialsOf, isWorkerServer, protectedServer } from './sign-in/protected-server.ts';

/** An MCP server that is a plugin of the worker, for all conversations. */
export interface ConnectedServer extends AsyncDisposable {
  plugin: () => Plugin;
  /** Resolves after the first attempt to connect (or to list its tools), or at once where it is disabled. */
  started: Promise<void>;
}

export interface ServerParts {
  name: string;
  server: McpProgram | McpRemote;
  readEnvironment: (name: string) => string | undefined;
  log: Logger;
  /** Called with the plugin whenever its tools, its problem or its alerts change. */
  onChange: (plugin: Plugin) => void;
  /** Whether operators have enabled it at this moment. */
  isEnabled: boolean;
  /** Longest pause between two attempts to reach a server that has ended, in milliseconds. Default 30 000. */
  maxPauseMs?: number;
  /** Addresses of authorization servers that are allowed although they are not public. */
  allowAddresses?: string[];
}

const FIRST_PAUSE_MS = 250;
const SIGN_IN_HINT = "If users sign in at it, write oauth: user beside its url in the agent's file";
/** A server that ran for this long did not end because of its start. */
const STEADY_MS = 60_000;

/**
 * Keeps a server connected. A server that ends is started again after pauses that grow, and its plugin reports it. A server that is disabled is ended as soon
 * as none of its calls is under way, and is started again when it is enabled.
 */
export function connectServer(parts: ServerParts): ConnectedServer {
  const keeper = new Keeper(parts);
  const kept = keeper.keepConnected();
  return {
    plugin: () => keeper.published.plugin(),
    started: keeper.first.promise,
    async [Symbol.asyncDispose]() {
      await keeper.close();
      await kept;
    },
  };
}

class Keeper {
  readonly published: ServerPlugin;
  readonly first = deferred<void>();
  private readonly parts: ServerParts;
  private readonly closed = new AbortController();
  private readonly calls = createRunningCalls();
  private readonly remembered: Remembered = {};
  private isEnabled: boolean;
  /** Aborts when the server is enabled or disabled. */
  private turned = new AbortController();
  /** The connection from its initialization on; `session` is the same once its tools are listed. */
  private opened: Session | undefined;
  private session: Session | undefined;
  private next = deferred<Session>();

  constructor(parts: ServerParts) {
    this.parts = parts;
    this.isEnabled = parts.isEnabled;
    const { name, server, log, onChange } = parts;
    const hooks = { restart: () => void this.session?.close('an operator asked for it'), setEnabled: (wanted: boolean) => this.setEnabled(wanted) };
    this.published = createServerPlugin({ name, limits: server, log, run: this.createRun(), onChange, hooks, session: () => this.session });
  }

  async keepConnected(): Promise<void> {
    const { maxPauseMs = 30_000 } = this.parts;
    let wasThere = false;
    for (let failures = 0; !this.closed.signal.aborted; failures += 1) {
      const changed = anySignal([this.closed.signal, this.turned.signal]);
      if (!this.isEnabled) {
        this.first.resolve();
        await new Promise((resolve) => changed.addEventListener('abort', resolve, { once: true }));
        failures = -1;
        continue;
      }
      const begun = performance.now();
      const why = await this.liveOnce(wasThere);
      wasThere = true;
      this.first.resolve();
      if (this.closed.signal.aborted || !this.isEnabled) continue;
      if (performance.now() - begun > STEADY_MS) failures = 0;
      this.published.fail(`${cutMiddle(why, 1000)}; it is tried again`);
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** failures, maxPauseMs), undefined, { signal: changed }).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.closed.abort();
    await this.opened?.close('the worker ends');
  }

  private createRun(): RunServerTool {
    const { name, server } = this.parts;
    const lastAlert = () => this.published.plugin().alerts.at(-1)?.text;
    const caller = createCaller({ name, limits: server, place: placeOf(server), session: () => this.session ?? this.next.promise, lastAlert });
    return (tool) => {
      const { execute, ...rest } = caller(tool);
      return { ...rest, execute: (input, context) => this.calls.counted(() => execute(input, context)) };
    };
  }

  private setEnabled(wanted: boolean): void {
    if (wanted === this.isEnabled) return;
    this.isEnabled = wanted;
    this.turned.abort();
    this.turned = new AbortController();
    if (!wanted) void this.endWhenIdle(this.turned.signal);
  }

  private async endWhenIdle(changed: AbortSignal): Promise<void> {
    await this.calls.drained(anySignal([changed, this.closed.signal]));
    const { session } = this;
    if (changed.aborted || !session) return;
    await session.close('an operator disabled it');
    if (!this.isEnabled) this.published.mention('The server was ended, since an operator disabled it');
  }

  /** One connection from its start to its end; returns the reason of its end. */
  private async liveOnce(again: boolean): Promise<string> {
    const { name, server, readEnvironment, log } = this.parts;
    this.opened = undefined;
    try {
      const authorized = this.authorized();
      const open = () => openTransport(name, server, readEnvironment, authorized);
      const toolsChanged = createRefresh(
        async () => this.opened && this.list(this.opened),
        (error) => log.warn({ plugin: name, err: error }, 'the tools of an MCP server could not be listed'),
      );
      this.opened = await openSession({ name, sampling: server.sampling, remembered: this.remembered, signal: this.closed.signal }, open, {
        toolsChanged,
        ...logOf(name, log),
      });
      if (this.closed.signal.aborted) await this.opened.close('the worker ends');
      await this.list(this.opened);
    } catch (error) {
      await this.opened?.close('its tools could not be listed');
      const hint = statusIn(error) === 401 && !('oauth' in server) ? `. ${SIGN_IN_HINT}` : '';
      return `The server cannot be used: ${(error as Error).message}${hint}`;
    }
    const { opened } = this;
    this.session = opened;
    this.next.resolve(opened);
    if (again) this.published.recover('The server is available again');
    this.first.resolve();
    if (!this.isEnabled) void this.endWhenIdle(this.turned.signal);
    const why = await opened.ended;
    this.opened = undefined;
    this.session = undefined;
    this.next = deferred();
    return `The server has ended (${why})`;
  }

  /** What sends requests with the worker's own token; undefined where it needs none. */
  private authorized(): FetchLike | undefined {
    const { name, server, readEnvironment, allowAddresses = [] } = this.parts;
    if (!isWorkerServer(server)) return undefined;
    const filled = { ...server, url: fillInServer(name, server.url, readEnvironment), oauth: fillInServer(name, server.oauth, readEnvironment) };
    const described = { ...protectedServer(name, filled), issuer: filled.oauth.issuer };
    return createAuthorizedFetch(described.url, createWorkerTokens({ server: described, credentials: credentialsOf(filled), allowAddresses }));
  }

  private async list(opened: Session): Promise<void> {
    this.published.take(await opened.list());
  }
}

/** What a server is, for as long as the agent's file describes it in the same way. */
export function placeOf(server: McpProgram | McpRemote): string {
  return JSON.stringify('url' in server ? [server.url] : [server.command, ...server.args]);
}
