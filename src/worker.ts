import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from './activities/create-activities.ts';
import type { ActivityDependencies } from './tool-calls/run/dependencies.ts';
import type { StartConversation } from './activities/start-scheduled.ts';
import type { Config } from './platform/config.ts';
import { checkNamespace } from './client/own-namespace.ts';
import { startConversation } from './client/start-conversation.ts';
import { failure, isFailure } from './contracts/errors.ts';
import type { Logger } from './platform/log.ts';
import { compactClosed } from './worker/compact-closed.ts';
import { createConversationReaper, type ConversationReaper } from './worker/reap-conversations.ts';
import { destroyExpired } from './sdk/destroy-expired.ts';
import type { Sandboxes } from './sandbox/api/sandbox.ts';
import type { Store } from './store/store.ts';
import { loadWorkflowBundle } from './worker/workflow-bundle.ts';

export interface WorkerOptions extends Omit<ActivityDependencies, 'startConversation'> {
  config: Pick<Config, 'TEMPORAL_ADDRESS' | 'TEMPORAL_NAMESPACE' | 'LONGSHORE_TASK_QUEUE' | 'LONGSHORE_HOME' | 'LONGSHORE_AGENTS'> &
    Partial<Pick<Config, 'LONGSHORE_RETENTION_DAYS'>>;
  /** Made from the config, and closed with the worker, when absent. */
  connection?: NativeConnection;
}

/** One worker: polls the conversations' task queue and keeps its host's sandboxes in order. */
export interface LongshoreWorker {
  /** Works until `shutdown`; then lets go of running commands, which run on, and resolves. */
  run(): Promise<void>;
  shutdown(): void;
}

export { registerSandboxBackend, createSandboxes, type SandboxBackend, type SandboxBackendParts } from './sdk/backends.ts';

const REAP_EVERY_MS = 5 * 60_000;

/** @throws TEMPORAL_UNAVAILABLE when the server does not answer or does not know the namespace; DATABASE_ELSEWHERE when that is not the database's. */
export async function createWorker(options: WorkerOptions): Promise<LongshoreWorker> {
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
    // A cancellation comes back with a heartbeat; the default lets up to a minute pass between two.
    maxHeartbeatThrottleInterval: '1s',
    defaultHeartbeatThrottleInterval: '1s',
    // Short calls may end by themselves; then the rest is detached, and by the force time the process ends whatever it waits for.
    shutdownGraceTime: '5s',
    shutdownForceTime: '60s',
    // After a worker's death its conversations wait this long for it before another one takes them over.
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

interface ReaperParts {
  store: Pick<Store, 'pluginStore' | 'sandboxes' | 'conversations'>;
  sandboxes: Sandboxes;
  log: Logger;
  config: Partial<Pick<Config, 'LONGSHORE_RETENTION_DAYS'>>;
  reapConversations: ConversationReaper;
}

/** Closes what no workflow looks after and removes what no row owns, now and from time to time. A failed round is told and left to the next. */
function startReaper({ store, sandboxes, log, config, reapConversations }: ReaperParts): { stop(): Promise<void> } {
  const stopped = new AbortController();
  let round: Promise<void> = Promise.resolve();
  const reapOnce = async (before: Promise<void>) => {
    await before;
    try {
      await reapConversations(stopped.signal);
    } catch (error) {
      log.warn({ err: error }, 'conversations could not be reaped');
    }
    try {
      await destroyExpired({ store, sandboxes, log });
      const found = await sandboxes.reap();
      if (Object.values(found).some((names) => names.length > 0)) log.info(found, 'sandboxes reaped');
    } catch (error) {
      log.warn({ err: error }, 'sandboxes could not be reaped');
    }
    await compactClosed(store, config.LONGSHORE_RETENTION_DAYS ?? 0, stopped.signal).catch((error: unknown) =>
      log.warn({ err: error }, 'calls of old conversations could not be removed'),
    );
    await store.pluginStore.sweep().catch((error: unknown) => log.warn({ err: error }, 'old entries of plugins could not be removed'));
  };
  const reap = () => {
    round = reapOnce(round);
  };
  reap();
  const timer = setInterval(reap, REAP_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      stopped.abort();
      await round;
    },
  };
}
