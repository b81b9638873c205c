import { isAbsolute, resolve } from 'node:path';
import type { z } from 'zod';
import type { Agent, McpServer, PluginPin } from '../../contracts/agent.ts';
import { agentSchema } from './agent-schema.ts';
import { invalidDefinition, plainDefinition, type DefinitionSource } from '../parse/invalid-definition.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { sandboxOptions } from '../parse/sandbox-options.ts';

const SCRIPTED = 'scripted/';

/**
 * Checks a definition and fills in the defaults.
 * @throws AGENT_INVALID naming file, path, value and fix.
 */
export function parseAgent(definition: unknown, source: DefinitionSource): Agent {
  const parsed = agentSchema.safeParse(plainDefinition(definition, source));
  if (!parsed.success) throw invalidDefinition(agentSchema, parsed.error, source);
  const { sandbox, budget, approvalTimeout, approval, model, plugins, mcp, ...rest } = parsed.data;
  const { assets } = sandbox;
  const { wallTime, ...counts } = budget;
  return {
    ...rest,
    model: model.startsWith(SCRIPTED) ? SCRIPTED + resolve(source.directory, model.slice(SCRIPTED.length)) : model,
    ...pluginsOf(plugins, source.directory),
    ...(mcp && { mcp: Object.fromEntries(Object.entries(mcp).map(([name, server]) => [name, serverOf(server, source)])) }),
    sandbox: {
      ...sandboxOptions(sandbox),
      ...(assets && { assets: assets.map(({ from, to }) => ({ from: resolve(source.directory, from), to })) }),
      ...(sandbox.sandboxId !== undefined && { onClose: 'keep' }),
    },
    approval: approval.map(withoutUndefined),
    ...expiryOf(approvalTimeout),
    budget: { ...withoutUndefined(counts), wallTimeMs: wallTime },
  };
}

function serverOf({ timeout: timeoutMs, timeouts: toolTimeoutsMs, ...server }: Server, { directory: base }: DefinitionSource): McpServer {
  const limits = { timeoutMs, ...(toolTimeoutsMs && { toolTimeoutsMs }) };
  if ('url' in server) return { ...server, ...limits };
  const { directory, where, ...program } = server;
  if (where === 'sandbox') return { ...program, where, ...limits, ...(directory !== undefined && { directory }) };
  return { ...program, where, ...limits, ...(directory !== undefined && { directory: resolve(base, directory) }) };
}

type Server = NonNullable<z.output<typeof agentSchema>['mcp']>[string];

function pluginsOf(entries: z.output<typeof agentSchema>['plugins'], directory: string): Pick<Agent, 'plugins' | 'pluginPins'> {
  const located = (name: string) => (name.startsWith('.') || isAbsolute(name) ? resolve(directory, name) : name);
  const named = entries.map((entry) => {
    if (typeof entry === 'string') return { name: located(entry), pin: {} };
    const bound = entry.permissions && { permissions: withoutUndefined(entry.permissions) };
    if ('path' in entry) return { name: resolve(directory, entry.path), pin: { ...withoutUndefined({ digest: entry.digest }), ...bound } };
    return { name: entry.package, pin: { ...withoutUndefined({ version: entry.version, digest: entry.digest }), ...bound } };
  });
  const pins = new Map<string, PluginPin>();
  // When several entries name a plugin, what each of them pins is combined.
  for (const { name, pin } of named) if (Object.keys(pin).length > 0) pins.set(name, { ...pins.get(name), ...pin });
  return { plugins: named.map(({ name }) => name), ...(pins.size > 0 && { pluginPins: Object.fromEntries(pins) }) };
}

function expiryOf(timeout: z.output<typeof agentSchema>['approvalTimeout']): Pick<Agent, 'approvalTimeoutMs' | 'approvalExpiry'> {
  return typeof timeout === 'number'
    ? { approvalTimeoutMs: timeout, approvalExpiry: 'deny' }
    : { approvalTimeoutMs: timeout.after, approvalExpiry: timeout.then };
}
