import { isAbsolute, resolve } from 'node:path';
import type { z } from 'zod';
import type { Agent, Judge, PluginPin, RuleDecision, SubAgent } from '../../contracts/agent.ts';
import type { McpLimits, McpRemote, McpServer } from '../../contracts/mcp/server.ts';
import { failure } from '../../contracts/errors.ts';
import type { MemoryScope } from '../../contracts/memory/memory.ts';
import { toClientTools } from './client-tool-schema.ts';
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
  const {
    sandbox,
    budget,
    approvalTimeout,
    approval,
    model,
    plugins,
    mcp,
    agents,
    clientTools,
    clientToolsFromRequests,
    output,
    judge,
    context,
    checkpoints,
    memory,
    plan,
    skills,
    agentsMd,
    maxRunningTurns,
    priority,
    ...rest
  } = parsed.data;
  const { assets } = sandbox;
  const { wallTime, ...counts } = budget;
  return {
    ...rest,
    model: located(model, source),
    ...pluginsOf(plugins, source.directory),
    ...(mcp && { mcp: Object.fromEntries(Object.entries(mcp).map(([name, server]) => [name, serverOf(server, source)])) }),
    sandbox: {
      ...sandboxOptions(sandbox),
      ...(assets && { assets: assets.map(({ from, to }) => ({ from: resolve(source.directory, from), to })) }),
      ...(sandbox.sandboxId !== undefined && { onClose: 'keep' }),
    },
    approval: approval.map(withoutUndefined),
    ...expiryOf(approvalTimeout),
    ...(context !== undefined && { context: context === 'off' ? context : withoutUndefined(context) }),
    budget: { ...withoutUndefined(counts), wallTimeMs: wallTime },
    ...(checkpoints !== undefined && checkpoints !== 'off' && { checkpoints }),
    ...memoryOf(memory),
    ...(output && { output }),
    ...knowledgeOf({ plan, skills, agentsMd }, source),
    ...judgeOf(judge, approval, source),
    ...(agents && { agents: Object.fromEntries(Object.entries(agents).map(([name, use]) => [name, subAgentOf(use)])) }),
    ...clientToolsOf({ clientTools, clientToolsFromRequests }),
    ...withoutUndefined({ maxRunningTurns, priority }),
  };
}

function clientToolsOf({
  clientTools,
  clientToolsFromRequests,
}: Pick<z.output<typeof agentSchema>, 'clientTools' | 'clientToolsFromRequests'>): Pick<Agent, 'clientTools' | 'clientToolsFromRequests'> {
  return { ...(clientTools && { clientTools: toClientTools(clientTools) }), ...(clientToolsFromRequests === true && { clientToolsFromRequests }) };
}

/** What is at its default is left out. */
function knowledgeOf({ plan, skills, agentsMd }: Knowledge, { directory }: DefinitionSource): Pick<Agent, 'plan' | 'skills' | 'agentsMd'> {
  return {
    ...(agentsMd === 'off' && { agentsMd }),
    ...(plan === true && { plan }),
    ...(skills && { skills: skills.map((place) => resolve(directory, place)) }),
  };
}

type Knowledge = Pick<z.output<typeof agentSchema>, 'plan' | 'skills' | 'agentsMd'>;

/** The path of a script is relative to the file. */
function located(model: string, { directory }: DefinitionSource): string {
  return model.startsWith(SCRIPTED) ? SCRIPTED + resolve(directory, model.slice(SCRIPTED.length)) : model;
}

function judgeOf(judge: Judge | undefined, rules: { decide: RuleDecision }[], source: DefinitionSource): Pick<Agent, 'judge'> {
  if (judge) return { judge: { ...judge, model: located(judge.model, source) } };
  const index = rules.findIndex(({ decide }) => decide === 'auto');
  if (index === -1) return {};
  const problem = 'is auto, and the agent has no judge';
  const fix = 'Add judge: { model: provider/model, rules: [ … ] }';
  throw failure('AGENT_INVALID', { file: source.locate(['approval', index, 'decide']), path: `approval[${index}].decide`, problem, fix });
}

function memoryOf(memory: MemoryScope | 'off' | undefined): Pick<Agent, 'memory'> {
  return memory === undefined || memory === 'off' ? {} : { memory };
}

function subAgentOf({ budget: { wallTime: wallTimeMs, ...budget }, ...use }: NonNullable<z.output<typeof agentSchema>['agents']>[string]): SubAgent {
  return { ...withoutUndefined(use), budget: withoutUndefined({ ...budget, wallTimeMs }) };
}

function serverOf({ timeout: timeoutMs, timeouts: toolTimeoutsMs, ...server }: Server, { directory: base }: DefinitionSource): McpServer {
  const { sampling, ...described } = server;
  const limits = { timeoutMs, ...(toolTimeoutsMs && { toolTimeoutsMs }), ...(sampling && { sampling }) };
  if ('url' in described) return remoteOf(described, limits);
  const { directory, where, ...program } = described;
  if (where === 'sandbox') return { ...program, where, ...limits, ...(directory !== undefined && { directory }) };
  return { ...program, where, ...limits, ...(directory !== undefined && { directory: resolve(base, directory) }) };
}

type Remote = Omit<Extract<Server, { url: string }>, 'timeout' | 'timeouts' | 'sampling'>;

function remoteOf({ oauth, ...server }: Remote, limits: McpLimits & Pick<McpRemote, 'sampling'>): McpServer {
  return { ...server, ...limits, ...(oauth && { oauth: oauth === 'user' ? { as: oauth } : withoutUndefined(oauth) }) };
}

type Server = NonNullable<z.output<typeof agentSchema>['mcp']>[string];

function pluginsOf(entries: z.output<typeof agentSchema>['plugins'], directory: string): Pick<Agent, 'plugins' | 'pluginPins'> {
  const located = (name: string) => (name.startsWith('.') || isAbsolute(name) ? resolve(directory, name) : name);
  const named = entries.map((entry) => {
    if (typeof entry === 'string') return { name: located(entry), pin: {} };
    const bound = entry.permissions && { permissions: withoutUndefined(entry.permissions) };
    if ('path' in entry)
      return { name: resolve(directory, entry.path), pin: { ...withoutUndefined({ digest: entry.digest, source: entry.source }), ...bound } };
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
