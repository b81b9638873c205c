import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../activities/create-activities.ts';
import type { StartConversation } from '../tool-calls/dependencies.ts';
import type { Config } from '../platform/config.ts';
import { checkNamespace } from '../client/own-namespace.ts';
import { startConversation } from '../client/start-conversation.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import { createConversationReaper } from './reap-conversations.ts';
import { startReaper } from './start-reaper.ts';
import { checkWorkerOptions, type WorkerOptions } from './worker-options.ts';
import { loadWorkflowBundle } from './workflow-bundle.ts';

/** One worker: polls the conversations' task queue and cleans up the sandboxes of its host. */
export interface LongshoreWorker {
  /** Works until `shutdown`; then detaches from running commands, which continue, and resolves. */
  run(): Promise<void>;
  shutdown(): void;
}

/**
 * @throws INVALID_ARGUMENT for options that are not valid; TEMPORAL_UNAVAILABLE when the server does not answer or does not know the namespace;
 * DATABASE_ELSEWHERE when the database belongs to another namespace.
 */
export async function createWorker(options: WorkerOptions): Promise<LongshoreWorker> {
  checkWorkerOptions(options);
  const { config, log } = options;
  const workflowBundle = await loadWorkflowBundle({ home: config.LONGSHORE_HOME, log });
  const connection = options.connection ?? (await connectTo(config));
  const worker = await createOn(connection, options, workflowBundle).catch(async (error: unknown) => {
    if (!options.connection) await connection.close();
    throw isFailure(error) ? error : unavailable(config.TEMPORAL_ADDRESS, error);
  });
  return {
    async run() {
      const { workflow: workflows } = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE });
      const reaper = startReaper({ ...options, reapConversations: createConversationReaper({ ...options, workflows }) });
      try {
        await worker.run();
      } finally {
        await reaper.stop();
        if (!options.connection) await connection.close();
      }
    },
    shutdown: () => worker.shutdown(),
  };
}

async function createOn(connection: NativeConnection, options: WorkerOptions, workflowBundle: Awaited<ReturnType<typeof loadWorkflowBundle>>): Promise<Worker> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, LONGSHORE_TASK_QUEUE: taskQueue } = options.config;
  await checkNamespace(options.store.temporalHome, { address, namespace, connection });
  return Worker.create({
    connection,
    namespace,
    taskQueue,
    workflowBundle,
    activities: { ...createActivities({ ...options, startConversation: starterOn(connection, options) }) },
    // A heartbeat receives a cancellation; by default, up to a minute may pass between two heartbeats.
    maxHeartbeatThrottleInterval: '1s',
    defaultHeartbeatThrottleInterval: '1s',
    // Short calls may end during the grace time; the others are then detached. At the force time, the process ends in any case.
    shutdownGraceTime: '5s',
    shutdownForceTime: '60s',
    // After a worker has died, its conversations wait this long before another worker takes them over.
    stickyQueueScheduleToStartTimeout: '2s',
  });
}

/** Starts conversations as clients do, with the agents of this worker and on its own task queue. */
function starterOn(connection: NativeConnection, { store, agents, config }: WorkerOptions): StartConversation {
  const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE });
  const temporal = { address: config.TEMPORAL_ADDRESS, client: async () => client };
  const source = { directory: config.LONGSHORE_AGENTS, load: async () => agents };
  return (options) => startConversation({ store, temporal, agents: source, taskQueue: config.LONGSHORE_TASK_QUEUE }, options);
}

async function connectTo({ TEMPORAL_ADDRESS: address }: Pick<Config, 'TEMPORAL_ADDRESS'>): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect({ address });
  } catch (error) {
    throw unavailable(address, error);
  }
}

function unavailable(address: string, error: unknown): Error {
  return failure('TEMPORAL_UNAVAILABLE', { address, problem: error instanceof Error ? error.message : String(error) }, error);
}
