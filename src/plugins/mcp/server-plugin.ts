import { createHash } from 'node:crypto';
import type { McpLimits } from '../../contracts/agent.ts';
import type { Logger } from '../../log.ts';
import { definePlugin, type Plugin, type PluginAlert, type Tool } from '../define-plugin.ts';
import { toolsOf, type RunServerTool } from './server-tools.ts';

/** The plugin that stands for a server, as its tools come and change. */
export interface ServerPlugin {
  plugin: () => Plugin;
  /** Takes what the server says it has. */
  take(version: string, listed: unknown[]): void;
  /** Its calls cannot be made for now; told to operators, and written to the log. */
  fail(text: string): void;
  /** They can be made again. */
  recover(text: string): void;
}

interface Parts {
  name: string;
  limits: McpLimits;
  log: Logger;
  run: RunServerTool;
  onChange: (plugin: Plugin) => void;
  /** Begins anew, as an operator asks for. */
  restart: () => void;
}

const MOST_ALERTS = 20;

export function createServerPlugin({ name, limits, log, run, onChange, restart }: Parts): ServerPlugin {
  const alerts: PluginAlert[] = [];
  let known = '';
  let plugin = made('0', []);
  return { plugin: () => plugin, take, fail, recover };

  function take(serverVersion: string, listed: unknown[]): void {
    const digest = createHash('sha256').update(JSON.stringify(listed)).digest('hex').slice(0, 12);
    // Approvals are bound to the version: a server that changes what its tools say cannot live off an approval of what they said before.
    const version = `${serverVersion.slice(0, 50)}+${digest}`;
    if (version === known) return;
    const { tools, problems } = toolsOf(name, listed, limits, run);
    for (const problem of problems.slice(0, MOST_ALERTS)) alert('warning', problem);
    if (known !== '')
      alert(
        'info',
        `Its tools have changed; now there are: ${
          tools
            .map(({ id }) => id)
            .join(', ')
            .slice(0, 500) || 'none'
        }`,
      );
    known = version;
    plugin = made(version, tools);
    onChange(plugin);
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

  function made(version: string, tools: Tool[]): Plugin {
    const plugin = definePlugin({ id: name, version, description: `MCP server ${name}`, tools, dialect: 'mcp', requireApproval: true, alerts });
    return Object.assign(plugin, { restart });
  }

  function alert(level: PluginAlert['level'], text: string): void {
    alerts.push({ level, text, at: new Date().toISOString() });
    if (alerts.length > MOST_ALERTS) alerts.shift();
    log[level === 'warning' ? 'warn' : level]({ plugin: name }, text);
  }
}
