import { hostname } from 'node:os';
import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../activities/create-activities.ts';
import { unlessCutOff } from '../activities/failures.ts';
import type { Config } from '../platform/config.ts';
import { readEncryptionKeys } from '../platform/encryption-keys.ts';
import { checkNamespace } from '../client/temporal/own-namespace.ts';
import { createConversationCalls, type ConversationCalls } from '../client/conversation-calls.ts';
import { startConversation, type StartRequest } from '../client/start-conversation.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import type { ProposedCall } from '../contracts/activities.ts';
import { hostQueue } from '../contracts/hosts/elsewhere.ts';
import type { ServerAsks } from '../contracts/questions/question.ts';
import type { ForkedSignal } from '../contracts/forks/fork.ts';
import type { PlacedTurn } from '../store/conversation/turn-places.ts';
import { serveHost } from '../hosts/server/serve-host.ts';
import { traceActivities } from '../traces/trace-activities.ts';
import { startAnsweringForLostHosts } from './hosts/answer-for-lost-hosts.ts';
import { cachedConversations } from './cached-conversations.ts';
import { checkSearchAttributes } from './check-search-attributes.ts';
import { createConversationReaper } from './reap-conversations.ts';
import { describeHost } from './hosts/describe-host.ts';
import { startDraining } from './hosts/drain-host.ts';
import { endSenders } from './end-senders.ts';
import { startReaper } from './start-reaper.ts';
import { startBackups } from './keep-backups.ts';
import { startRestingIdle } from './rest-idle.ts';
import { startStoringSnapshots } from './store-snapshots.ts';
import { checkWorkerOptions, type WorkerOptions } from './worker-options.ts';
import { createSignal } from './signals.ts';
import { createSubAgentCalls } from './sub-agent-calls.ts';
import { startSweepingPlaces, turnLimits } from './turn-places.ts';
import { serviceLinks } from './service-links.ts';
import { workerDataConverter } from './worker-data-converter.ts';
import { startPluginTasks } from './serve-plugin-tasks.ts';
import { startMovingResting } from './versions/move-resting.ts';
import { checkPinning, workerDeployment } from './versions/worker-deployment.ts';
import { createWebhookWorker } from './webhook-worker.ts';
import { loadWorkflowBundle } from './workflow-bundle.ts';

/** One worker: polls the conversations' task queue, serves the sandboxes of its host to `longshore serve`, and cleans them up. */
export interface LongshoreWorker {
  /** Works until `shutdown`; then detaches from running commands, which continue, and resolves. */
  run(): Promise<void>;
  shutdown(): void;
}

/**
 * Polls when it is run; its host is served from now on, until it has run.
 * @throws INVALID_ARGUMENT for options that are not valid; TEMPORAL_UNAVAILABLE when the server does not answer; DATABASE_ELSEWHERE when the database belongs
 * to another namespace; TEMPORAL_NOT_PREPARED when the namespace lacks search attributes; CONFIG_INVALID when the server does not know the namespace, or the
 * host cannot be served at LONGSHORE_HOST_ADDRESS.
 */
export async function createWorker(options: WorkerOptions): Promise<LongshoreWorker> {
  checkWorkerOptions(options);
  const { config, log } = options;
  const dataConverter = workerDataConverter(readEncryptionKeys(config.LONGSHORE_ENCRYPTION_KEYS));
  const workflowBundle = await loadWorkflowBundle({ home: config.LONGSHORE_HOME, log, dataConverter });
  const connection = options.connection ?? (await connectTo(config));
  const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE, dataConverter });
  const { workflow: workflows } = client;
  const starting = conversationsOn(client, options);
  const create = async () => {
    const conversations = await createOn(connection, { ...options, ...starting }, { workflowBundle, dataConverter });
    const webhooks = await createWebhookWorker({ ...options, connection, workflows, dataConverter });
    const host = await serveHost({ ...options, config: hostOf(config) });
    const kept = await options.sandboxes.keepHost?.();
    return { conversations, webhooks, host, kept, described: await describeHost(options) };
  };
  const workers = await create().catch(async (error: unknown) => {
    if (!options.connection) await connection.close();
    throw isFailure(error) ? error : unavailable(config.TEMPORAL_ADDRESS, error);
  });
  return {
    async run() {
      const signal = createSignal(client);
      const reaper = startReaper({
        ...options,
        workflows,
        reapConversations: createConversationReaper({ ...options, ...starting, workflows }),
        endSenders: () => endSenders({ ...options, workflows, signal, taskQueue: config.LONGSHORE_TASK_QUEUE }),
      });
      const beside = [
        reaper,
        workers.webhooks.start(),
        startSweepingPlaces({ ...options, ...starting }),
        startDraining(options),
        startAnsweringForLostHosts({ ...options, connection, dataConverter }),
        startMovingResting({ ...options, client, tell: signal }),
        startPluginTasks({ ...options, wake: starting.wake }),
        startBackups({ ...options, hostId: hostOf(config).LONGSHORE_HOST_ID }),
        startStoringSnapshots(options),
        startRestingIdle(options),
        workers.described,
      ];
      try {
        await runTogether(workers.conversations);
      } finally {
        const ends = beside.map(async (one) => one.stop());
        await Promise.all([...ends, workers.host[Symbol.asyncDispose](), workers.kept?.[Symbol.asyncDispose]()]);
        if (!options.connection) await connection.close();
      }
    },
    shutdown: () => endAll(workers.conversations),
  };
}

/** Where programs of their own say nothing, as in the settings. */
function hostOf({ LONGSHORE_HOST_ADDRESS = '127.0.0.1:0', LONGSHORE_HOST_ID = hostname() }: WorkerOptions['config']) {
  return { LONGSHORE_HOST_ADDRESS, LONGSHORE_HOST_ID };
}

/**
 * By the clock. When the code of a workflow takes longer, Node.js ends the whole process ("async hook stack has become corrupted"): on a machine that is very busy,
 * the default of 5 s did that to workers that only waited for a processor. Temporal's library takes it, though its types do not list it.
 */
export const PATIENT = { isolateExecutionTimeout: '60s' } as const;

async function createOn(
  connection: NativeConnection,
  options: WorkerOptions & ReturnType<typeof conversationsOn>,
  parts: { workflowBundle: Awaited<ReturnType<typeof loadWorkflowBundle>>; dataConverter: DataConverter },
): Promise<Worker[]> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, LONGSHORE_TASK_QUEUE: taskQueue } = options.config;
  const deployment = workerDeployment(options.config);
  const { LONGSHORE_CACHED_CONVERSATIONS: maxCachedWorkflows = cachedConversations() } = options.config;
  await checkNamespace(options.store.temporalHome, { address, namespace, connection });
  await checkSearchAttributes({ address, namespace, connection, log: options.log });
  await checkPinning(options.config, connection);
  const { workflowBundle, dataConverter } = parts;
  const shared = {
    connection,
    namespace,
    dataConverter,
    activities: { ...createActivities({ ...options, service: serviceLinks(options) }) },
    ...(options.tracing && { interceptors: { activity: [traceActivities({ ...options, tracing: options.tracing })] } }),
    // A heartbeat receives a cancellation; by default, up to a minute may pass between two heartbeats.
    maxHeartbeatThrottleInterval: '1s',
    defaultHeartbeatThrottleInterval: '1s',
    // Short calls may end during the grace time; the others are then detached. At the force time, the process ends in any case.
    shutdownGraceTime: '5s',
    shutdownForceTime: '60s',
  } as const;
  const worker = await Worker.create({
    ...shared,
    taskQueue,
    workflowBundle,
    maxCachedWorkflows,
    ...(deployment && { workerDeploymentOptions: deployment }),
    ...PATIENT,
    // After a worker has died, its conversations wait this long before another worker takes them over.
    stickyQueueScheduleToStartTimeout: '2s',
  });
  const { hostId } = options.sandboxes;
  if (hostId === undefined) return [worker];
  // What uses a sandbox of this host, and was given to a worker of another one first.
  const activities = unlessCutOff(shared.activities, options.sandboxes);
  return [worker, await Worker.create({ ...shared, activities, taskQueue: hostQueue(taskQueue, hostId) })];
}

/** Ends them all when one of them ends. */
async function runTogether(workers: Worker[]): Promise<void> {
  const runs = workers.map((worker) => worker.run().finally(() => endAll(workers)));
  for (const end of await Promise.allSettled(runs)) if (end.status === 'rejected') throw end.reason;
}

function endAll(workers: Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

/** Starts conversations as clients do, with the agents of this worker and on its own task queue. */
function conversationsOn(client: Client, { store, agents, config }: WorkerOptions) {
  const temporal = { address: config.TEMPORAL_ADDRESS, keys: readEncryptionKeys(config.LONGSHORE_ENCRYPTION_KEYS), client: async () => client };
  // Said of an agent that is not found: its file may be there already.
  const source = { directory: `${config.LONGSHORE_AGENTS} and restart the workers`, load: async () => agents };
  const send: ConversationCalls['send'] = (conversationId, text, how) =>
    createConversationCalls({ store, temporal, agents: source }, { actor: { kind: 'conversation', id: conversationId } }).send(conversationId, text, how);
  const start = (options: StartRequest) => startConversation({ store, temporal, agents: source, taskQueue: config.LONGSHORE_TASK_QUEUE }, options);
  const signal = createSignal(client);
  const forks = { tell: (sourceId: string, fork: ForkedSignal) => signal(sourceId, 'forked', fork) };
  const places = { limits: turnLimits(config), tell: ({ conversationId, turnId }: PlacedTurn) => signal(conversationId, 'turnHasPlace', { turnId }) };
  const questions = { tell: (conversationId: string, asks: ServerAsks<ProposedCall>) => signal(conversationId, 'serverAsks', asks) };
  const wake = (conversationId: string, wakeId: string) => signal(conversationId, 'wake', { callId: wakeId });
  return { startConversation: start, subAgents: createSubAgentCalls(signal, start, send), forks, questions, places, wake };
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
