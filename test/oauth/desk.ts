import type { McpRemote } from '../../src/contracts/mcp/server.ts';
import type { McpUserOAuth } from '../../src/contracts/mcp/oauth.ts';
import type { Question, QuestionAnswer } from '../../src/contracts/questions/question.ts';
import { comeBack, setOut } from '../../src/oauth/sign-in-flow.ts';
import type { Logger } from '../../src/platform/log.ts';
import type { Plugin, ToolContext } from '../../src/plugins/api/define-plugin.ts';
import type { ConnectedServer } from '../../src/plugins/dialects/mcp/connected-server.ts';
import type { ListShelf } from '../../src/plugins/dialects/mcp/lists-of-conversations.ts';
import { serveUsers } from '../../src/plugins/dialects/mcp/serve-users.ts';
import { memoryStore } from '../plugins/dialects/mcp/memory-store.ts';
import type { SignIn, SignInRows } from '../../src/store/sign-ins/sign-ins.ts';
import { memoryRows } from './memory-rows.ts';

/** Nothing listens there: what a browser is sent back to is read and not followed. */
export const PUBLIC_URL = 'http://127.0.0.1:1';
const COOKIE = { name: 'longshore_sign_in', known: '' };

/** A worker with a server at which users sign in, and the HTTP service beside it, without processes of their own. */
export interface Desk extends AsyncDisposable {
  rows: SignInRows;
  connected: ConnectedServer;
  logged: string[];
  /** What a user's conversation has. */
  pluginOf(user: string): Promise<Plugin>;
  /** Calls a tool for a user. */
  call(user: string, tool: string, more?: Partial<ToolContext>): Promise<unknown>;
  /** What people were asked, in order. */
  questions: Question[];
  /** How the next questions are answered; a person that signs in at first. */
  person: (question: Question, signal: AbortSignal) => Promise<QuestionAnswer>;
}

export async function openDesk(url: string, { rows = memoryRows(), oauth = {} }: { rows?: SignInRows; oauth?: Partial<McpUserOAuth> } = {}): Promise<Desk> {
  const logged: string[] = [];
  const write = (values: object, message: string) => void logged.push(`${message} ${JSON.stringify(values)}`);
  const log = { info: write, warn: write, error: write, debug: write } as unknown as Logger;
  const server: McpRemote & { oauth: McpUserOAuth } = { url, headers: {}, timeoutMs: 10_000, oauth: { as: 'user', ...oauth } };
  const connected = serveUsers({
    name: 'desk',
    server,
    readEnvironment: () => undefined,
    log,
    onChange: () => undefined,
    isEnabled: true,
    store: memoryShelf(),
    signIns: { rows, publicUrl: PUBLIC_URL, allowAddresses: [] },
    maxPauseMs: 100,
  });
  await connected.started;
  let calls = 0;
  const desk: Desk = {
    rows,
    connected,
    logged,
    questions: [],
    person: async (question) => {
      await signIn(rows, linkIn(question));
      return { action: 'accept' };
    },
    async pluginOf(userId) {
      const common = connected.plugin();
      return (await common.inConversation?.({ conversationId: 'conv', tenantId: 'north', agentId: 'clerk', userId })) ?? common;
    },
    async call(userId, tool, more = {}) {
      const store = memoryStore();
      const plugin = await desk.pluginOf(userId);
      const found = plugin.tools.find(({ id }) => id === tool);
      if (!found) throw new Error(`no tool ${tool} among ${plugin.tools.map(({ id }) => id).join(', ')}`);
      calls += 1;
      const askPerson = async (question: Question, signal: AbortSignal) => {
        desk.questions.push(question);
        return desk.person(question, signal);
      };
      const ids = { conversationId: 'conv', tenantId: 'north', userId, callId: `call_${calls}` };
      const context = { signal: new AbortController().signal, heartbeat: () => undefined, store, logger: console, askPerson, ...ids, ...more };
      return found.execute({}, context as Partial<ToolContext> as ToolContext);
    },
    [Symbol.asyncDispose]: () => connected[Symbol.asyncDispose](),
  };
  return desk;
}

export function linkIn(question: Question | undefined): string {
  if (!question || !('url' in question)) throw new Error(`no page is asked for: ${JSON.stringify(question)}`);
  return question.url.split('/').at(-1) ?? '';
}

/** Where a browser is when the authorization server has sent it back, with its cookie. */
export interface Browser {
  back: URL;
  cookie: string;
}

/** Opens the link as a browser does, up to the way back. */
export async function goThere(rows: SignInRows, link: string): Promise<Browser> {
  const found = await rows.byLink(link);
  if (!found) throw new Error('the link does not work');
  const { location, cookie } = await setOut({ rows, allowAddresses: [] }, found, COOKIE);
  const answer = await fetch(location, { redirect: 'manual' });
  return { back: new URL(answer.headers.get('location') ?? ''), cookie };
}

export async function comeHome(rows: SignInRows, { back, cookie }: Browser): Promise<SignIn[]> {
  const { state = '', code, error, iss: issuer } = Object.fromEntries(back.searchParams);
  return (await comeBack({ rows, allowAddresses: [] }, { state, code, error, issuer }, cookie)).waiting;
}

export async function signIn(rows: SignInRows, link: string): Promise<void> {
  await comeHome(rows, await goThere(rows, link));
}

/** Entries of plugins, in memory. */
export function memoryShelf(): ListShelf {
  const entries = new Map<string, unknown>();
  return {
    entry: async (shelf, key) => {
      const value = entries.get(JSON.stringify([shelf, key]));
      return value === undefined ? undefined : ({ value, version: 1 } as never);
    },
    set: async (shelf, key, value) => {
      entries.set(JSON.stringify([shelf, key]), value);
      return 'created';
    },
  };
}
