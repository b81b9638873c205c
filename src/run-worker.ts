import { makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { loadAgents } from './agents/load-agents.ts';
import { searchableTools } from './activities/offer-tools.ts';
import { readEnvironment, type Config } from './config.ts';
import type { Agent } from './contracts/agent.ts';
import type { Logger } from './log.ts';
import { createWorkerMetrics } from './metrics/worker-metrics.ts';
import { startSampling } from './metrics/sample-sandboxes.ts';
import { serveMetrics } from './metrics/serve-metrics.ts';
import { createModels } from './models/create-models.ts';
import { BUILTIN_PLUGINS } from './plugins/builtin/builtin-plugins.ts';
import type { Plugin } from './plugins/define-plugin.ts';
import { openIsolates, type Isolates } from './plugins/isolates/load-isolated.ts';
import { createToolsPlugin } from './plugins/builtin/tools.ts';
import { loadPlugins } from './plugins/load-plugins.ts';
import { createLiveRegistry } from './plugins/live-registry.ts';
import { openMcpServers, type McpServers } from './plugins/mcp/open-servers.ts';
import { createPluginServices } from './plugins/create-plugin-services.ts';
import { createSandboxes } from './sandbox/backends.ts';
import type { Registry } from './plugins/registry.ts';
import type { Store } from './store/store.ts';
import { prepareTemplates } from './templates/prepare-templates.ts';
import { openStore } from './store/open-store.ts';
import { createWorker } from './worker.ts';

/**
 * Runs a worker in this process until SIGTERM or SIGINT. Logs `worker ready` when it polls.
 * @throws what its parts throw at their start: AGENT_INVALID, POSTGRES_UNAVAILABLE, TEMPORAL_UNAVAILABLE, …
 */
export async function runWorker(config: Config, log: Logger): Promise<void> {
  const agents = await loadAgents(config.LONGSHORE_AGENTS, config.LONGSHORE_TEMPLATES);
  const fenced = pluginNames(agents).some((name) => !config.LONGSHORE_HOST_PLUGINS.includes(name));
  await using isolates = fenced ? await openIsolates({ log }) : undefined;
  await using store = await openStore({ url: config.DATABASE_URL, log, blobs: config });
  const { plugins, taken } = await loadAll({ config, agents, isolates, log });
  await using mcp = await openMcpServers({ agents: agents.values(), taken, hostPlugins: config.LONGSHORE_HOST_PLUGINS, readEnvironment, log });
  const registry = fillRegistry({ plugins, mcp, agents, store, log });
  await using sandboxes = await createSandboxes({ config, store, log });
  await using services = createPluginServices(config);
  const pools = await prepareTemplates(config, agents, log);
  const models = createModels({ readEnvironment, log });
  const runtime = installRuntime(log);
  try {
    await using _warm = pools.length > 0 ? sandboxes.keepWarm?.(pools) : undefined;
    const metrics = createWorkerMetrics({ store });
    const address = config.LONGSHORE_METRICS_ADDRESS;
    await using _served = address === undefined ? undefined : await serveMetrics({ address, metrics, store, log });
    await using _sampling = startSampling({ store, sandboxes, log });
    const worker = await createWorker({ config, store, sandboxes, registry, agents, models, services, metrics, log });
    const running = worker.run();
    log.info({ taskQueue: config.LONGSHORE_TASK_QUEUE, agents: [...agents.keys()], tools: registry.tools.length }, 'worker ready');
    await running;
  } finally {
    // It ends by itself with its last worker; one that never got a worker would keep the process from ending.
    await runtime.shutdown();
  }
  log.info('worker stopped');
}

interface Loading {
  config: Config;
  agents: ReadonlyMap<string, Agent>;
  /** Undefined when no plugin needs one. */
  isolates: Isolates | undefined;
  log: Logger;
}

/** The agents' plugins beside the built-in ones. What cannot be loaded is told; the agents that need it fail with a clear message, the others work. */
async function loadAll({ config, agents, isolates, log }: Loading): Promise<{ plugins: Plugin[]; taken: string[] }> {
  const names = pluginNames(agents);
  const { LONGSHORE_AGENTS: directory, LONGSHORE_HOST_PLUGINS: hostPlugins } = config;
  const { plugins, problems } = await loadPlugins(names, { directory, known: BUILTIN_PLUGINS, isolates, hostPlugins });
  const inHost = names.filter((name) => hostPlugins.includes(name));
  if (inHost.length > 0) log.warn({ plugins: inHost }, "plugins run in the worker's own process, as LONGSHORE_HOST_PLUGINS says");
  if (isolates) log.info({ fence: isolates.fence }, 'plugins run in fenced processes');
  for (const { name, error } of problems) log.error({ plugin: name, err: error }, 'a plugin could not be loaded');
  return { plugins, taken: [...plugins.map(({ id }) => id), 'tools'] };
}

interface Filling extends Pick<Loading, 'agents' | 'log'> {
  plugins: Plugin[];
  mcp: McpServers;
  store: Store;
}

/** All tools; those of MCP servers as they come and change. */
function fillRegistry({ plugins, mcp, agents, store, log }: Filling): Registry {
  for (const { name, error } of mcp.problems) log.error({ plugin: name, err: error }, 'an MCP server cannot be used');
  const tools = createToolsPlugin((conversation) => searchableTools({ registry, agents, store, log }, conversation));
  const registry = createLiveRegistry([...plugins, ...mcp.plugins, tools]);
  mcp.follow((plugin) => {
    try {
      registry.replace(plugin);
    } catch (error) {
      log.error({ plugin: plugin.id, err: error }, 'the changed tools of an MCP server cannot be used');
    }
  });
  for (const agent of agents.values()) {
    try {
      registry.forAgent(agent);
    } catch (error) {
      log.error({ agent: agent.id, err: error }, 'an agent cannot work');
    }
  }
  return registry;
}

function pluginNames(agents: ReadonlyMap<string, Agent>): string[] {
  return [...new Set([...agents.values()].flatMap((agent) => agent.plugins))];
}

/** Temporal's own log lines go where ours go. Its runtime also turns SIGTERM and SIGINT into a graceful shutdown. */
function installRuntime(log: Logger): Runtime {
  const at = (level: 'trace' | 'debug' | 'info' | 'warn' | 'error') => (message: string, meta?: object) => log[level]({ ...meta }, message);
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
