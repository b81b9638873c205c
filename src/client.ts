import { loadAgents } from './definitions/agents/load-agents.ts';
import { connectOptions } from './client/client-arguments.ts';
import { createLongshore } from './client/create-longshore.ts';
import type { AgentSource } from './client/start-conversation.ts';
import { checkNamespace } from './client/own-namespace.ts';
import { createTemporalLink } from './client/temporal.ts';
import type { ConnectOptions, Longshore } from './client/types.ts';
import { checkDatabaseUrl, loadConfig, type Config } from './platform/config.ts';
import { createLogger } from './platform/log.ts';
import { openStore } from './store/open-store.ts';

export type {
  ApproveOptions,
  Chat,
  ConnectOptions,
  EventOptions,
  ListFilter,
  Longshore,
  Plugins,
  PluginState,
  SendOptions,
  SentMessage,
  StartOptions,
} from './client/types.ts';
export type { CreateScheduleOptions, Schedule, ScheduleRun, Schedules, ScheduleTiming, ScheduleWithRuns } from './client/schedule-types.ts';
export type { ConversationStatus, PendingApproval } from './contracts/conversation.ts';
export type { ConversationEvent, EventData, EventType } from './contracts/events.ts';
export type { StoredEntry } from './contracts/transcript.ts';
export { isFailure, LongshoreError } from './contracts/errors.ts';
export { defineAgent } from './definitions/agents/define-agent.ts';

/**
 * Connects to a Longshore installation: Postgres and Temporal. Fails with `POSTGRES_UNAVAILABLE`, `TEMPORAL_UNAVAILABLE`, `DATABASE_ELSEWHERE` or `CONFIG_INVALID`.
 * Dispose the client to close its connections: `await using longshore = await connect()`.
 */
export async function connect(given: ConnectOptions = {}): Promise<Longshore> {
  const options = connectOptions(given);
  const config = loadConfig();
  const log = options.log ?? createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  const store = await openStore({ url: checkDatabaseUrl(config, options.databaseUrl ?? config.DATABASE_URL), log });
  const temporal = createTemporalLink({
    address: options.temporalAddress ?? config.TEMPORAL_ADDRESS,
    namespace: options.temporalNamespace ?? config.TEMPORAL_NAMESPACE,
    check: (parts) => checkNamespace(store.temporalHome, parts),
  });
  const taskQueue = options.taskQueue ?? config.LONGSHORE_TASK_QUEUE;
  const longshore = createLongshore({ store, temporal, taskQueue, agents: agentSource(options, config) });
  try {
    if (!options.lazy) await temporal.client();
  } catch (error) {
    await longshore[Symbol.asyncDispose]();
    throw error;
  }
  return longshore;
}

function agentSource({ agents }: ConnectOptions, config: Config): AgentSource {
  if (Array.isArray(agents)) {
    return { directory: 'the agents given to connect()', load: async () => new Map(agents.map((agent) => [agent.id, agent])) };
  }
  const directory = agents ?? config.LONGSHORE_AGENTS;
  return { directory, load: () => loadAgents(directory, config.LONGSHORE_TEMPLATES, 'leave') };
}
