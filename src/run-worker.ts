import { makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { loadAgents } from './agents/load-agents.ts';
import { readEnvironment, type Config } from './config.ts';
import type { Agent } from './contracts/agent.ts';
import type { Logger } from './log.ts';
import { createModels } from './models/create-models.ts';
import { BUILTIN_PLUGINS } from './plugins/builtin/builtin-plugins.ts';
import { loadPlugins } from './plugins/load-plugins.ts';
import { createRegistry, type Registry } from './plugins/registry.ts';
import { createDockerSandboxes } from './sandbox/docker/sandboxes.ts';
import { openStore } from './store/open-store.ts';
import { createWorker } from './worker.ts';

/**
 * Runs a worker in this process until SIGTERM or SIGINT. Logs `worker ready` when it polls.
 * @throws what its parts throw at their start: AGENT_INVALID, POSTGRES_UNAVAILABLE, TEMPORAL_UNAVAILABLE, …
 */
export async function runWorker(config: Config, log: Logger): Promise<void> {
  const agents = await loadAgents(config.LONGSHORE_AGENTS);
  const registry = await loadRegistry(config, agents, log);
  await using store = await openStore({ url: config.DATABASE_URL, log, blobs: config });
  await using sandboxes = createDockerSandboxes({ config, store, log });
  const models = createModels({ readEnvironment, log });
  const runtime = installRuntime(log);
  try {
    const worker = await createWorker({ config, store, sandboxes, registry, agents, models, log });
    const running = worker.run();
    log.info({ taskQueue: config.LONGSHORE_TASK_QUEUE, agents: [...agents.keys()], tools: registry.tools.length }, 'worker ready');
    await running;
  } finally {
    // It ends by itself with its last worker; one that never got a worker would keep the process from ending.
    await runtime.shutdown();
  }
  log.info('worker stopped');
}

/** The agents' plugins beside the built-in ones. What cannot be loaded is told; the agents that need it fail with a clear message, the others work. */
async function loadRegistry(config: Config, agents: ReadonlyMap<string, Agent>, log: Logger): Promise<Registry> {
  const names = [...new Set([...agents.values()].flatMap((agent) => agent.plugins))];
  const { plugins, problems } = await loadPlugins(names, { directory: config.LONGSHORE_AGENTS, known: BUILTIN_PLUGINS });
  for (const { name, error } of problems) log.error({ plugin: name, err: error }, 'a plugin could not be loaded');
  const registry = createRegistry(plugins);
  for (const agent of agents.values()) {
    try {
      registry.forAgent(agent);
    } catch (error) {
      log.error({ agent: agent.id, err: error }, 'an agent cannot work');
    }
  }
  return registry;
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
