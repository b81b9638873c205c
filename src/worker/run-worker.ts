import { join } from 'node:path';
import { makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { parseDuration } from '../common/duration.ts';
import { loadAgents } from '../definitions/agents/load-agents.ts';
import { loadSkills } from '../definitions/skills/load-skills.ts';
import { createSkillShelf, type SkillShelf } from '../tool-calls/skills/skill-shelf.ts';
import { searchableTools } from '../tool-calls/offer/offer-tools.ts';
import { checkDatabaseUrl, readEnvironment, type Config } from '../platform/config.ts';
import type { Agent } from '../contracts/agent.ts';
import { CLIENT_PLUGIN, clientToolId } from '../contracts/client-tool.ts';
import { readEncryptionKeys } from '../platform/encryption-keys.ts';
import type { Logger } from '../platform/log.ts';
import { createWorkerMetrics } from '../metrics/worker-metrics.ts';
import { startSampling } from '../metrics/sample-sandboxes.ts';
import { serveMetrics } from '../metrics/serve-metrics.ts';
import { createModels, type Models } from '../models/create-models.ts';
import { readPrices } from '../models/prices/read-prices.ts';
import { createAttachmentsPlugin } from '../plugins/builtin/attachments.ts';
import { createAgentsPlugin } from '../plugins/builtin/agents.ts';
import { BUILTIN_PLUGINS } from '../plugins/builtin/builtin-plugins.ts';
import { openIsolates, type Isolates } from '../plugins/isolates/load-isolated.ts';
import { createContextPlugin } from '../plugins/builtin/context.ts';
import { createPlanPlugin } from '../plugins/builtin/plan.ts';
import { createSkillsPlugin } from '../plugins/builtin/skills.ts';
import { createMemoryPlugin } from '../plugins/builtin/memory/memory.ts';
import { createToolsPlugin } from '../plugins/builtin/tools.ts';
import { createPluginServices } from '../plugins/load/create-plugin-services.ts';
import { pluginSandboxesOf } from '../plugins/load/plugin-sandboxes.ts';
import { openPluginManager, type PluginManager } from '../plugins/manager/plugin-manager.ts';
import { sourcesOf } from '../plugins/manager/plugin-source.ts';
import { checkOutputs } from './check-outputs.ts';
import { unmatchedRules } from '../plugins/approval/unmatched-rules.ts';
import { watchPlugins } from '../plugins/manager/watch-plugins.ts';
import { baseAddress } from '../common/base-address.ts';
import { readOAuthAddresses } from '../oauth/oauth-fetch.ts';
import { createLister } from '../plugins/dialects/mcp/list-in-sandbox.ts';
import { openMcpServers, type McpServers } from '../plugins/dialects/mcp/open-servers.ts';
import { createSandboxes } from '../sdk/backends.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import type { Registry } from '../plugins/registry/registry.ts';
import type { Store } from '../store/store.ts';
import { prepareTemplates } from '../images/prepare-templates.ts';
import { openStore } from '../store/open-store.ts';
import { openTracing } from '../traces/open-tracing.ts';
import { createWorker } from './create-worker.ts';

/**
 * Runs a worker in this process until SIGTERM or SIGINT. Logs `worker ready` when it polls.
 * @throws the errors of its parts at their start: AGENT_INVALID, POSTGRES_UNAVAILABLE, TEMPORAL_UNAVAILABLE, …
 */
export async function runWorker(config: Config, log: Logger): Promise<void> {
  const agents = await loadAgents(config.LONGSHORE_AGENTS, config.LONGSHORE_TEMPLATES);
  await checkOutputs(agents);
  const prices = await readPrices(config.LONGSHORE_PRICES);
  const names = sourcesOf(agents.values()).map(({ name }) => name);
  const fenced = names.some((name) => !config.LONGSHORE_HOST_PLUGINS.includes(name));
  await using isolates = fenced ? await openIsolates({ log, ...isolatesOptionsOf(config) }) : undefined;
  const keys = readEncryptionKeys(config.LONGSHORE_ENCRYPTION_KEYS);
  await using store = await openStore({ url: checkDatabaseUrl(config, config.DATABASE_URL), log, blobs: config, keys, migrate: config.LONGSHORE_MIGRATE });
  const skills = createSkillShelf({ store, loaded: await loadSkills(agents.values()) });
  await using sandboxes = await createSandboxes({ config, store, log });
  await using plugins = await openPlugins({ config, agents, isolates, sandboxes, store, skills, log });
  await using _watch = config.LONGSHORE_WATCH === 'yes' ? await watchPlugins({ names, directory: config.LONGSHORE_AGENTS, plugins, log }) : undefined;
  const { registry } = plugins;
  const taken = [...registry.tools.map(({ pluginId }) => pluginId), 'tools'];
  const pools = await prepareTemplates(config, agents, log);
  const { LONGSHORE_SANDBOX_BACKEND: backend, LONGSHORE_SANDBOX_IMAGE: image } = config;
  const listInSandbox = createLister({ sandboxes, standard: { backend, image }, directory: join(config.LONGSHORE_HOME, 'mcp') });
  await using mcp = await openMcpServers({
    agents: agents.values(),
    taken,
    hostPlugins: config.LONGSHORE_HOST_PLUGINS,
    readEnvironment,
    listInSandbox,
    store: store.pluginStore,
    isEnabled: (name) => plugins.isEnabled(name),
    signIns: {
      rows: store.signIns,
      publicUrl: config.LONGSHORE_PUBLIC_URL === undefined ? undefined : baseAddress(config.LONGSHORE_PUBLIC_URL),
      encrypts: keys.first !== undefined,
      allowAddresses: readOAuthAddresses(config),
    },
    log,
  });
  addServers(plugins, mcp, log);
  for (const agent of agents.values()) {
    const problems = unmatchedRules(agent, [...registry.tools, ...clientToolsOf(agent)]);
    if (problems.length > 0) log.warn({ agent: agent.id, problems }, 'rules of an agent match no tool or plugin');
  }
  await using services = createPluginServices(config, (pluginId) => plugins.configOf(pluginId));
  const models = createModels({ readEnvironment, log, prices });
  tellUnpriced(agents, models, log);
  const runtime = installRuntime(log);
  try {
    await using _warm = pools.length > 0 ? sandboxes.keepWarm?.(pools) : undefined;
    const health = isolates && (() => isolates.health());
    const metrics = createWorkerMetrics({ store, plugins: health });
    const address = config.LONGSHORE_METRICS_ADDRESS;
    await using _served = address === undefined ? undefined : await serveMetrics({ address, metrics, store, plugins: health, log });
    await using _sampling = startSampling({ store, sandboxes, log });
    await using tracing = await openTracing(config, { service: 'longshore-worker', log });
    const worker = await createWorker({ config, store, sandboxes, registry, agents, skills, models, services, metrics, tracing, log });
    const running = worker.run();
    log.info({ taskQueue: config.LONGSHORE_TASK_QUEUE, agents: [...agents.keys()], tools: registry.tools.length }, 'worker ready');
    await running;
  } finally {
    // The runtime ends by itself with its last worker; without any worker, it would keep the process from ending.
    await runtime.shutdown();
  }
  log.info('worker stopped');
}

function isolatesOptionsOf({ LONGSHORE_PLUGIN_IDLE: idle, LONGSHORE_PLUGIN_PROCESSES: maxProcesses, LONGSHORE_WEAKLY_FENCED_PLUGINS: weaklyFenced }: Config) {
  return { idleMs: idle === '0' ? 0 : parseDuration(idle), maxProcesses, weaklyFenced };
}

interface Loading {
  config: Config;
  agents: ReadonlyMap<string, Agent>;
  /** Undefined when no plugin needs an isolated process. */
  isolates: Isolates | undefined;
  sandboxes: Sandboxes;
  store: Store;
  skills: SkillShelf;
  log: Logger;
}

function tellFence(isolates: Isolates, log: Logger): void {
  const { fence } = isolates;
  if (isolates.health().level === 'C')
    log.warn(
      { fence },
      'plugins are refused at level C of the fence, other than those of LONGSHORE_WEAKLY_FENCED_PLUGINS; longshore doctor says why and what to do',
    );
  else log.info({ fence }, 'plugins run in isolated processes');
}

/** Loads the agents' plugins beside the built-in ones. A plugin that fails to load is logged; agents that need it fail with a clear message. */
function openPlugins({ config, agents, isolates, sandboxes, store, skills, log }: Loading): Promise<PluginManager> {
  const sources = sourcesOf(agents.values());
  const { LONGSHORE_AGENTS: directory, LONGSHORE_HOST_PLUGINS: hostPlugins, LONGSHORE_HOST_ID: hostId } = config;
  if (isolates) tellFence(isolates, log);
  const searched = (registry: Registry) => createToolsPlugin((conversation) => searchableTools({ registry, agents, store, log }, conversation));
  const recalled = createContextPlugin((conversationId) => store.transcript.current(conversationId));
  const usesSandbox = (registry: Registry) => (agentId: string) => {
    const agent = agents.get(agentId);
    return agent !== undefined && registry.forAgent(agent).some(({ isolation }) => isolation === 'container');
  };
  const saved = createAttachmentsPlugin(store.media);
  const remembered = createMemoryPlugin({ agents, files: store.memory });
  return openPluginManager({
    sources,
    directory,
    hostPlugins,
    requireGrants: config.NODE_ENV === 'production',
    isolates,
    sandboxes: async () => pluginSandboxesOf(config, { sandboxes, store, log }),
    hostId,
    log,
    builtins: (registry) => [
      ...BUILTIN_PLUGINS,
      createAgentsPlugin(agents),
      createPlanPlugin(agents, (place, items) => store.plans.write(place, items)),
      createSkillsPlugin({ ...skills, usesSandbox: usesSandbox(registry) }),
      recalled,
      saved,
      remembered,
      searched(registry),
    ],
    store: store.plugins,
    environment: readEnvironment,
    onChange: (registry) => tellBrokenAgents(registry, agents, log),
  });
}

/** Adds the tools of MCP servers, and follows their changes. */
function addServers(plugins: PluginManager, mcp: McpServers, log: Logger): void {
  for (const { name, error } of mcp.problems) log.error({ plugin: name, err: error }, 'an MCP server cannot be used');
  plugins.provide(mcp.plugins, mcp.problems);
  mcp.follow((plugin) => {
    try {
      plugins.provide([plugin]);
    } catch (error) {
      log.error({ plugin: plugin.id, err: error }, 'the changed tools of an MCP server cannot be used');
    }
  });
}

function tellBrokenAgents(registry: Registry, agents: ReadonlyMap<string, Agent>, log: Logger): void {
  for (const agent of agents.values()) {
    // The tools of MCP servers are added later, and those of clients in their conversations.
    const own = new Set([...Object.keys(agent.mcp ?? {}), ...(agent.clientTools || agent.clientToolsFromRequests ? [CLIENT_PLUGIN] : [])]);
    const tools = agent.tools.filter((pattern) => !own.has(pattern.split(':')[0] ?? ''));
    try {
      registry.forAgent({ ...agent, tools });
    } catch (error) {
      log.error({ agent: agent.id, err: error }, 'an agent cannot work');
    }
  }
}

function clientToolsOf({ clientTools = {} }: Agent): { id: string; pluginId: string }[] {
  return Object.keys(clientTools).map((name) => ({ id: clientToolId(name), pluginId: CLIENT_PLUGIN }));
}

function tellUnpriced(agents: ReadonlyMap<string, Agent>, models: Models, log: Logger): void {
  const unpriced = [...agents.values()].filter((agent) => !models.isPriced(agent)).map(({ id, model }) => ({ agent: id, model }));
  if (unpriced.length > 0)
    log.info({ unpriced }, 'the prices of these models are not known, and their cost is told as unknown; LONGSHORE_PRICES names a file with prices');
}

/** What Temporal's library warns of, and is meant to be so: the workers of one host, and of webhooks, run activities only. */
const MEANT = 'No workflows registered, not polling for workflow tasks';

/** Sends Temporal's own log lines to this logger. Temporal's runtime also turns SIGTERM and SIGINT into a graceful shutdown. */
function installRuntime(log: Logger): Runtime {
  const at = (level: 'trace' | 'debug' | 'info' | 'warn' | 'error') => (message: string, meta?: object) =>
    log[message === MEANT ? 'debug' : level]({ ...meta }, message);
  const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;
  return Runtime.install({
    logger: {
      log: (level, message, meta) => at(levels[level])(message, meta),
      trace: at('trace'),
      debug: at('debug'),
      info: at('debug'),
      warn: at('warn'),
      error: at('error'),
    },
    telemetryOptions: { logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) } },
  });
}
