import { loadAgents } from '../definitions/agents/load-agents.ts';
import { checkDatabaseUrl, loadConfig, type Config } from '../platform/config.ts';
import { readEncryptionKeys } from '../platform/encryption-keys.ts';
import { createLogger } from '../platform/log.ts';
import { openStore } from '../store/open-store.ts';
import type { ClientParts } from './create-longshore.ts';
import { readAddresses } from '../network/read-addresses.ts';
import { WEBHOOK_ADDRESSES } from '../webhooks/webhook-terms.ts';
import { checkNamespace } from './temporal/own-namespace.ts';
import type { AgentSource } from './start-conversation.ts';
import { createTemporalLink } from './temporal/temporal.ts';
import type { ConnectOptions } from './types.ts';

/** Opens what a client works with: Postgres, and Temporal at the first call that needs it. The caller closes both. */
export async function openClientParts(options: ConnectOptions, config: Config = loadConfig()): Promise<ClientParts> {
  const log = options.log ?? createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  const webhookAddresses = readAddresses(WEBHOOK_ADDRESSES, config.LONGSHORE_WEBHOOK_ADDRESSES);
  const keys = readEncryptionKeys(config.LONGSHORE_ENCRYPTION_KEYS);
  const store = await openStore({ url: checkDatabaseUrl(config, options.databaseUrl ?? config.DATABASE_URL), log, keys, migrate: config.LONGSHORE_MIGRATE });
  const temporal = createTemporalLink({
    address: options.temporalAddress ?? config.TEMPORAL_ADDRESS,
    namespace: options.temporalNamespace ?? config.TEMPORAL_NAMESPACE,
    keys,
    check: (parts) => checkNamespace(store.temporalHome, parts),
  });
  return { store, temporal, webhookAddresses, taskQueue: options.taskQueue ?? config.LONGSHORE_TASK_QUEUE, agents: agentSource(options, config) };
}

function agentSource({ agents }: ConnectOptions, config: Config): AgentSource {
  if (Array.isArray(agents)) {
    return { directory: 'the agents given to connect()', load: async () => new Map(agents.map((agent) => [agent.id, agent])) };
  }
  const directory = agents ?? config.LONGSHORE_AGENTS;
  return { directory, load: () => loadAgents(directory, config.LONGSHORE_TEMPLATES, 'leave') };
}
