import { setTimeout as sleep } from 'node:timers/promises';
import { anySignal } from '../../../common/any-signal.ts';
import { deferred } from '../../../common/deferred.ts';
import { RecentMap } from '../../../common/recent-map.ts';
import { cutMiddle } from '../../../contracts/visible-text.ts';
import { createAuthorizedFetch } from '../../../oauth/authorized-fetch.ts';
import type { ProtectedServer } from '../../../oauth/server.ts';
import { createUserTokens, type User } from '../../../oauth/user-tokens.ts';
import type { SignInRows } from '../../../store/sign-ins/sign-ins.ts';
import type { Plugin, Tool } from '../../api/define-plugin.ts';
import { createCaller } from './call-server.ts';
import { placeOf, type ConnectedServer, type ServerParts } from './connected-server.ts';
import type { Remembered } from './connection/generation.ts';
import { fillInServer } from './connection/fill-in-server.ts';
import { logOf } from './connection/heard.ts';
import { statusIn } from './connection/http-words.ts';
import type { ListShelf } from './lists-of-conversations.ts';
import type { ListedTools } from './offers/listed-tools.ts';
import { openSession, type Session } from './connection/open-session.ts';
import { openTransport } from './connection/open-transport.ts';
import { createRefresh } from './refresh.ts';
import { createServerPlugin, versionOf, type ServerPlugin } from './server-plugin.ts';
import type { RunServerTool } from './server-tools.ts';
import { createSigningIn, type SigningIn } from './sign-in/ask-to-sign-in.ts';
import { createListsOfUsers, type ListsOfUsers } from './sign-in/lists-of-users.ts';
import { protectedServer, type UserServer } from './sign-in/protected-server.ts';
import { createSignInTool } from './sign-in/sign-in-tool.ts';
import { UserSessions } from './sign-in/user-sessions.ts';

/** What a worker needs for sign-ins. */
export interface SignInParts {
  rows: SignInRows;
  /** Where people reach the HTTP service. */
  publicUrl: string;
  /** Addresses that are allowed although they are not public. */
  allowAddresses: string[];
}

interface UserServerParts extends Omit<ServerParts, 'server'> {
  server: UserServer;
  store: ListShelf;
  signIns: SignInParts;
}

const FIRST_PAUSE_MS = 500;
const MOST_PLUGINS = 100;

/**
 * A server at which each user signs in. Each user has a connection of its own, and the tools that the server lists for it. Those that the server lists for everybody are
 * there before that; if it lists none, there is a tool that signs in.
 */
export function serveUsers(parts: UserServerParts): ConnectedServer {
  const served = new Served(parts);
  return {
    plugin: () => served.published.plugin(),
    started: served.first.promise,
    [Symbol.asyncDispose]: () => served.close(),
  };
}

class Served {
  readonly published: ServerPlugin;
  readonly first = deferred<void>();
  private readonly parts: UserServerParts;
  private readonly closed = new AbortController();
  private readonly sessions: UserSessions<Session>;
  private readonly lists: ListsOfUsers;
  private readonly signingIn: SigningIn;
  private readonly plugins = new RecentMap<string, Plugin>(MOST_PLUGINS);
  private readonly remembered: Remembered = {};
  private isEnabled: boolean;
  private turned = new AbortController();
  private listing: Promise<void> = Promise.resolve();

  constructor(parts: UserServerParts) {
    this.parts = parts;
    const { name, server, log, onChange, store, signIns } = parts;
    this.isEnabled = parts.isEnabled;
    const url = () => this.described().url;
    this.lists = createListsOfUsers(name, url, store);
    this.sessions = new UserSessions((user) => this.open(user));
    // What the server lists for a user may be more after a sign-in.
    const onSignIn = (user: User) => this.sessions.drop(user, 'the user has signed in');
    this.signingIn = createSigningIn({ server: name, url, ...signIns, onSignIn });
    const instead = createSignInTool(name, async (context) => {
      await this.signingIn(context, () => this.sessions.of(context));
      return (await this.pluginOf(context))?.tools.map(({ id }) => id) ?? [];
    });
    const hooks = {
      inConversation: (user: User) => this.pluginOf(user),
      restart: () => this.restart(),
      setEnabled: (wanted: boolean) => this.setEnabled(wanted),
    };
    this.published = createServerPlugin({
      name,
      limits: server,
      log,
      run: this.createRun(),
      onChange,
      hooks,
      instead,
      session: (user, isNeeded) => (isNeeded ? this.sessions.of(user) : this.sessions.opened(user)),
    });
    if (this.isEnabled) this.listInTurn();
    else this.first.resolve();
  }

  async close(): Promise<void> {
    this.closed.abort();
    await this.sessions.close('the worker ends', 'now');
    await this.listing;
  }

  private createRun(): RunServerTool {
    const { name, server, signIns } = this.parts;
    const lastAlert = () => this.published.plugin().alerts.at(-1)?.text;
    const caller = createCaller({ name, limits: server, place: placeOf(server), session: (context) => this.sessions.of(context), lastAlert });
    // A call whose server wanted a sign-in first had no effect.
    const isUnmade = async (callId: string) => (await signIns.rows.ofCall(callId))?.isResumed === false;
    return (tool) => {
      const { execute, mayGoOn, ...rest } = caller(tool);
      const goesOn: Tool['mayGoOn'] = async (callId, kept) => (await isUnmade(callId)) || (await mayGoOn?.(callId, kept)) === true;
      return { ...rest, mayGoOn: goesOn, execute: (input, context) => this.signingIn(context, () => execute(input, context)) };
    };
  }

  /** The server as it is described, with the worker's variables. @throws PLUGIN_INVALID, or an Error that says why it cannot be used */
  private described(): ProtectedServer {
    const { name, server, readEnvironment } = this.parts;
    return protectedServer(name, { ...server, url: fillInServer(name, server.url, readEnvironment), oauth: fillInServer(name, server.oauth, readEnvironment) });
  }

  /** Connects for a user, and notes what the server lists for it. */
  private async open(user: User): Promise<Session> {
    const { signIns } = this.parts;
    const described = this.described();
    const tokens = createUserTokens({ server: described, ...signIns });
    const source = {
      current: () => tokens.current(user),
      after: (...given: [string | undefined, Parameters<typeof tokens.after>[2], boolean]) => tokens.after(user, ...given),
    };
    return this.connect(createAuthorizedFetch(described.url, source), (listed) => this.lists.put(user, listed));
  }

  private async connect(fetchFn: Parameters<typeof openTransport>[3], take: (listed: ListedTools) => Promise<void> | void): Promise<Session> {
    const { name, server, readEnvironment, log } = this.parts;
    let opened: Session | undefined;
    const list = async (): Promise<void> => opened && take(await opened.list());
    const toolsChanged = createRefresh(list, (error) => log.warn({ plugin: name, err: error }, 'the tools of an MCP server could not be listed'));
    opened = await openSession(
      { name, sampling: server.sampling, remembered: this.remembered, signal: this.closed.signal },
      () => openTransport(name, server, readEnvironment, fetchFn),
      {
        toolsChanged,
        ...logOf(name, log),
      },
    );
    try {
      await list();
      return opened;
    } catch (error) {
      await opened.close('its tools could not be listed');
      throw error;
    }
  }

  private async pluginOf(user: User): Promise<Plugin | undefined> {
    const listed = await this.lists.get(user);
    const version = listed && versionOf(listed);
    if (version === undefined || version === this.published.plugin().version) return undefined;
    const plugin = this.plugins.get(version) ?? this.published.withTools(listed as ListedTools);
    this.plugins.set(version, plugin);
    return plugin;
  }

  private restart(): void {
    void this.sessions.close('an operator asked for it');
    if (this.isEnabled) this.listInTurn();
  }

  private setEnabled(wanted: boolean): void {
    if (wanted === this.isEnabled) return;
    this.isEnabled = wanted;
    this.turned.abort();
    this.turned = new AbortController();
    if (wanted) this.listInTurn();
    else void this.sessions.close('an operator disabled it');
  }

  private listInTurn(): void {
    const signal = anySignal([this.closed.signal, this.turned.signal]);
    this.listing = this.listing.then(() => this.listUntilKnown(signal));
  }

  /** Lists what the server tells without a sign-in. */
  private async listUntilKnown(signal: AbortSignal): Promise<void> {
    const { maxPauseMs = 30_000 } = this.parts;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        await this.listForAll();
        if (failures > 0) this.published.recover('The server is available again');
        break;
      } catch (error) {
        this.published.fail(`The server cannot be used: ${cutMiddle((error as Error).message, 1000)}; it is tried again`);
      }
      this.first.resolve();
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** failures, maxPauseMs), undefined, { signal }).catch(() => undefined);
    }
    this.first.resolve();
  }

  private async listForAll(): Promise<void> {
    this.described();
    try {
      const session = await this.connect(undefined, (listed) => this.published.take(listed));
      await session.close('its tools are known');
    } catch (error) {
      // It tells nothing without a token.
      if (![401, 403].includes(statusIn(error) ?? 0)) throw error;
      this.published.take({ version: '0', tools: [] });
    }
  }
}
