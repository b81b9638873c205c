import { NativeConnection } from '@temporalio/worker';
import { loadAgents } from '../src/definitions/agents/load-agents.ts';
import { createModels } from '../src/models/create-models.ts';
import { BUILTIN_PLUGINS } from '../src/plugins/builtin/builtin-plugins.ts';
import type { Plugin } from '../src/plugins/api/define-plugin.ts';
import { createPluginServices } from '../src/plugins/load/create-plugin-services.ts';
import { createRegistry } from '../src/plugins/registry/registry.ts';
import { createWorker } from '../src/worker/create-worker.ts';
import { connect, type Longshore } from '../src/client.ts';
import { AGENTS, clientOptions, type BenchParts } from './parts.ts';

/** A worker in this process, as in production except its agents, with a client and the connection it uses. */
export interface BenchWorker extends AsyncDisposable {
  longshore: Longshore;
  connection: NativeConnection;
}

export async function startBenchWorker(
  { stack, store, sandboxes, log }: Omit<BenchParts, typeof Symbol.asyncDispose>,
  plugins: Plugin[] = [],
): Promise<BenchWorker> {
  const { config } = stack;
  const agents = await loadAgents(AGENTS);
  const connection = await NativeConnection.connect({ address: config.TEMPORAL_ADDRESS });
  const models = createModels({ readEnvironment: () => undefined, log });
  const worker = await createWorker({
    config,
    store,
    sandboxes,
    registry: createRegistry([...BUILTIN_PLUGINS, ...plugins]),
    agents,
    models,
    services: createPluginServices({}),
    log,
    connection,
  });
  const running = worker.run();
  const longshore = await connect(clientOptions(stack, log));
  return {
    longshore,
    connection,
    async [Symbol.asyncDispose]() {
      await longshore[Symbol.asyncDispose]();
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}
