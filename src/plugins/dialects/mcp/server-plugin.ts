import { createHash } from 'node:crypto';
import { cutMiddle } from '../../../contracts/visible-text.ts';
import type { McpLimits } from '../../../contracts/mcp/server.ts';
import type { Logger } from '../../../platform/log.ts';
import { definePlugin, type Plugin, type PluginAlert, type PluginDetails, type Tool } from '../../api/define-plugin.ts';
import type { PluginConversation } from '../../api/plugin.ts';
import type { Session } from './connection/open-session.ts';
import type { ListedTools } from './offers/listed-tools.ts';
import { instructionsOf } from './offers/instructions.ts';
import { tellWatched, watchedIn } from './offers/watched-resources.ts';
import { toolsOf, type RunServerTool } from './server-tools.ts';

/** The plugin of a server, whose tools may change. */
export interface ServerPlugin {
  plugin: () => Plugin;
  /** Accepts the list of the server. */
  take(listed: ListedTools): void;
  /** The plugin with other tools than the published ones. */
  withTools(listed: ListedTools): Plugin;
  /** Its calls cannot be made at this moment. Reported to operators and logged. */
  fail(text: string): void;
  /** Its calls can be made again. Reported to operators and logged. */
  recover(text: string): void;
  /** Reported to operators and logged, without another effect. */
  mention(text: string): void;
}

interface Parts {
  name: string;
  limits: McpLimits;
  log: Logger;
  run: RunServerTool;
  onChange: (plugin: Plugin) => void;
  hooks: Pick<PluginDetails, 'restart' | 'setEnabled' | 'inConversation' | 'lookInto'>;
  /** The tool of a server that lists none. */
  instead?: Tool;
  /**
   * The connection for a conversation, over which changes of watched resources come; undefined where there is none, and none `isNeeded`. Absent for servers in sandboxes,
   * which are looked into.
   */
  session?: (conversation: PluginConversation, isNeeded: boolean) => Pick<Session, 'follow'> | Promise<Pick<Session, 'follow'>> | undefined;
}

const MOST_ALERTS = 20;

/**
 * The version of a server: its own version, and a digest of the tools that it lists. Approvals are bound to it, so an approval does not stay valid when the
 * server changes the description of a tool.
 */
export function versionOf({ version, tools, offers }: ListedTools): string {
  const listed = offers ? [tools, offers] : tools;
  return `${version.slice(0, 50)}+${createHash('sha256').update(JSON.stringify(listed)).digest('hex').slice(0, 12)}`;
}

export function createServerPlugin({ name, limits, log, run, onChange, hooks, instead, session }: Parts): ServerPlugin {
  const alerts: PluginAlert[] = [];
  let known = '';
  let words: string | undefined;
  let rounds = false;
  let plugin = made('0', { version: '0', tools: [] }, []);
  return { plugin: () => plugin, take, withTools, fail, recover, mention };

  function take(listed: ListedTools): void {
    const version = versionOf(listed);
    const { instructions, inRounds = false } = listed;
    if (version === known && instructions === words && inRounds === rounds) return;
    const isSame = version === known;
    const { tools, problems } = toolsOf(name, listed, limits, run);
    for (const problem of bounded(problems)) alert('warning', problem);
    if (known !== '' && !isSame) alert('info', `Its tools have changed; now there are: ${cutMiddle(tools.map(({ id }) => id).join(', '), 500) || 'none'}`);
    [known, words, rounds] = [version, instructions, inRounds];
    plugin = made(version, listed, tools);
    onChange(plugin);
  }

  function withTools(listed: ListedTools): Plugin {
    const { tools, problems } = toolsOf(name, listed, limits, run);
    for (const problem of bounded(problems)) log.warn({ plugin: name }, problem);
    return made(versionOf(listed), listed, tools);
  }

  function fail(text: string): void {
    alert('error', text);
    plugin.problem = text;
    onChange(plugin);
  }

  function recover(text: string): void {
    alert('info', text);
    delete plugin.problem;
    onChange(plugin);
  }

  function mention(text: string): void {
    alert('info', text);
    onChange(plugin);
  }

  function made(version: string, { instructions, offers }: ListedTools, tools: Tool[]): Plugin {
    const text = instructionsOf(name, instructions);
    const isWatched = offers?.includes('subscriptions') === true;
    const offered = instead && tools.length === 0 ? [instead] : tools;
    const plugin = definePlugin({ id: name, version, description: `MCP server ${name}`, tools: offered, dialect: 'mcp', requireApproval: true, alerts });
    const promptText = async (conversation: PluginConversation) => {
      const texts = [text, isWatched ? await changesFor(conversation, name, session) : undefined].filter((each) => each !== undefined);
      return texts.length === 0 ? undefined : texts.join('\n\n');
    };
    return Object.assign(plugin, hooks, (text !== undefined || isWatched) && { promptText });
  }

  function alert(level: PluginAlert['level'], text: string): void {
    alerts.push({ level, text, at: new Date().toISOString() });
    if (alerts.length > MOST_ALERTS) alerts.shift();
    log[level === 'warning' ? 'warn' : level]({ plugin: name }, text);
  }
}

/** What has changed of what a conversation watches; from now on, its changes are heard of over the open connection. */
async function changesFor(conversation: PluginConversation, name: string, session: Parts['session']): Promise<string | undefined> {
  const { conversationId, store } = conversation;
  if (!store) return undefined;
  const watched = await watchedIn(store);
  // The step does not wait for a connection.
  const uris = Object.keys(watched);
  void Promise.resolve(session?.(conversation, uris.length > 0)).then(
    (opened) => opened?.follow(conversationId, uris, store),
    () => undefined,
  );
  return tellWatched(name, watched);
}

/** Limits the number of problems. Further ones are only counted. */
function bounded(problems: string[]): string[] {
  const left = problems.length - MOST_ALERTS + 1;
  return left <= 1 ? problems : [...problems.slice(0, MOST_ALERTS - 1), `${left} more problems like these are left out`];
}
