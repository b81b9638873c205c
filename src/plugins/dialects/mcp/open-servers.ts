import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Agent, SandboxOptions } from '../../../contracts/agent.ts';
import type { McpServer } from '../../../contracts/mcp/server.ts';
import { failure } from '../../../contracts/errors.ts';
import type { Logger } from '../../../platform/log.ts';
import { isLoopback } from '../../../oauth/check-endpoint.ts';
import type { Plugin } from '../../api/define-plugin.ts';
import { connectServer, type ConnectedServer } from './connected-server.ts';
import type { ReadEnvironment } from './connection/fill-in-server.ts';
import { serveFromSandboxes } from './guest-server.ts';
import type { ListInSandbox } from './list-in-sandbox.ts';
import type { ListShelf } from './lists-of-conversations.ts';
import { isUserServer } from './sign-in/protected-server.ts';
import { serveUsers, type SignInParts } from './serve-users.ts';

/** The MCP servers of a worker's agents. */
export interface McpServers extends AsyncDisposable {
  /** One for each server, whether or not it was reached. */
  plugins: Plugin[];
  /** Servers that were not tried, each with a PLUGIN_INVALID or PLUGIN_COLLISION. */
  problems: { name: string; error: Error }[];
  /** Calls `onChange` for every plugin now, and later whenever the tools, the problem or the alerts of one change. */
  follow(onChange: (plugin: Plugin) => void): void;
}

export interface McpOptions {
  agents: Iterable<Pick<Agent, 'id' | 'mcp' | 'sandbox'>>;
  /** Ids of other plugins. */
  taken: string[];
  /** Names of plugins that the operator trusts with the worker's machine; `mcp:<name>` for a server. */
  hostPlugins: string[];
  readEnvironment: ReadEnvironment;
  listInSandbox: ListInSandbox;
  /** Stores the tools of servers in the sandboxes of conversations, after a change of these tools. */
  store: ListShelf;
  /** Whether operators have enabled a server at this moment; its plugin is notified of every change. */
  isEnabled: (name: string) => boolean;
  /** For servers with `oauth`. Without `publicUrl`, or where nothing is stored encrypted, no user can sign in. */
  signIns: Omit<SignInParts, 'publicUrl'> & { publicUrl: string | undefined; encrypts: boolean };
  log: Logger;
  /** How long the worker waits for servers before it starts without them, in milliseconds. Default 15 000. */
  patienceMs?: number;
}

/** Connects to the servers that agents name, and lists the tools of those in sandboxes. A server that cannot be reached has no tools until it can. */
export async function openMcpServers(options: McpOptions): Promise<McpServers> {
  const { patienceMs = 15_000 } = options;
  const { servers, problems } = collect(options);
  let tell: (plugin: Plugin) => void = () => undefined;
  const open = [...servers].map(([name, described]) => start(name, described, options, (plugin) => tell(plugin)));
  const enough = new AbortController();
  await Promise.race([Promise.all(open.map(({ started }) => started)), sleep(patienceMs, undefined, { signal: enough.signal }).catch(() => undefined)]);
  enough.abort();
  return {
    plugins: open.map((server) => server.plugin()),
    problems,
    follow(onChange) {
      tell = onChange;
      for (const server of open) onChange(server.plugin());
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(open.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

interface Described {
  server: McpServer;
  /** Options of the first agent that names the server. */
  sandbox: SandboxOptions;
}

function start(name: string, { server, sandbox }: Described, options: McpOptions, onChange: (plugin: Plugin) => void): ConnectedServer {
  const { readEnvironment, log, listInSandbox, store, signIns } = options;
  const { publicUrl = '', allowAddresses, rows } = signIns;
  const parts = { name, readEnvironment, log, onChange, isEnabled: options.isEnabled(name), allowAddresses };
  if (isUserServer(server)) return serveUsers({ ...parts, server, store, signIns: { rows, publicUrl, allowAddresses } });
  if ('url' in server || server.where === 'host') return connectServer({ ...parts, server });
  return serveFromSandboxes({ ...parts, server, store, list: (program, how) => listInSandbox(program, sandbox, how) });
}

/** The servers by their names; agents that name the same one share it. */
function collect({ agents, taken, hostPlugins, signIns }: McpOptions): { servers: Map<string, Described>; problems: McpServers['problems'] } {
  const servers = new Map<string, Described>();
  const owners = new Map(taken.map((id) => [id, 'a plugin']));
  const problems: McpServers['problems'] = [];
  for (const agent of agents) {
    for (const [name, server] of Object.entries(agent.mcp ?? {})) {
      const first = servers.get(name);
      if (first && isDeepStrictEqual(first.server, server)) continue;
      const problem = problemOf(name, server, agent.id, owners.get(name), hostPlugins) ?? problemOfSignIn(name, server, signIns);
      if (problem) problems.push({ name: `mcp:${name}`, error: problem });
      else servers.set(name, { server, sandbox: agent.sandbox });
      owners.set(name, owners.get(name) ?? `agent ${agent.id}`);
    }
  }
  return { servers, problems };
}

function problemOf(name: string, server: McpServer, agentId: string, owner: string | undefined, hostPlugins: string[]): Error | undefined {
  if (owner !== undefined) return failure('PLUGIN_COLLISION', { id: name, first: owner, second: `the MCP server of agent ${agentId}` });
  if ('url' in server || server.where === 'sandbox' || hostPlugins.includes(`mcp:${name}`)) return undefined;
  const fix = `Add mcp:${name} to LONGSHORE_HOST_PLUGINS`;
  return failure('PLUGIN_INVALID', { plugin: `mcp:${name}`, problem: "the operator has not allowed it to run on the worker's machine", fix });
}

/** Why no user can sign in at the server; undefined for one that needs no users. */
function problemOfSignIn(name: string, server: McpServer, { publicUrl, encrypts }: McpOptions['signIns']): Error | undefined {
  if (!isUserServer(server)) return undefined;
  const plugin = `mcp:${name}`;
  if (!encrypts) {
    const problem = 'users sign in at it, and what that gives is stored encrypted or not at all';
    return failure('PLUGIN_INVALID', { plugin, problem, fix: 'Set LONGSHORE_ENCRYPTION_KEYS for all workers and services' });
  }
  if (publicUrl !== undefined && (publicUrl.startsWith('https:') || isLoopback(new URL(publicUrl)))) return undefined;
  const problem = 'users sign in at it, and it is not known where the HTTP service takes them back over https';
  return failure('PLUGIN_INVALID', { plugin, problem, fix: 'Set LONGSHORE_PUBLIC_URL for all workers and services' });
}
