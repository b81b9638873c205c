import { createApiKeys } from './service/api-keys.ts';
import { createRequestAnswers } from './service/request-answers.ts';
import { createLimitRows } from './service/limits.ts';
import { createTaskQuestions } from './service/task-questions.ts';
import { createUsageRows } from './service/usage.ts';
import { createLinks } from './service/links.ts';
import { createAudit } from './service/audit.ts';
import { createClientCalls } from './service/client-calls.ts';
import { createJudgements } from './service/judgements.ts';
import { createFleet } from './service/fleet.ts';
import { createHosts } from './service/hosts.ts';
import { createRemoval } from './service/removal.ts';
import { createBackups } from './blobs/backups.ts';
import { createBlobStore } from './blobs/create-blob-store.ts';
import { inTimeOr } from '../common/in-time.ts';
import type { EncryptionKeys } from '../platform/encryption-keys.ts';
import type { Logger } from '../platform/log.ts';
import { createAnnouncer } from './database/announcer.ts';
import { createCompactions } from './compactions.ts';
import { createConversations } from './conversations.ts';
import { openDatabase } from './database/database.ts';
import { createEvents } from './events.ts';
import { createListener } from './database/listener.ts';
import { createMessages } from './messages.ts';
import { readSchemaState, type SchemaState } from './database/migrate.ts';
import { fitSchema } from './database/fit-schema.ts';
import { createPluginStates } from './plugin-states.ts';
import { createPluginStore } from './plugin-store.ts';
import { sealedWebhooks } from './service/sealed-webhooks.ts';
import { createSecretBox } from './service/secret-box.ts';
import { createSignIns } from './sign-ins/sign-ins.ts';
import { createWebhooks } from './service/webhooks.ts';
import { createPools } from './pools.ts';
import { createSandboxRows } from './sandboxes.ts';
import { createSamples } from './samples.ts';
import { createSnapshots } from './snapshots.ts';
import { createMemory } from './memory/memory.ts';
import { createRowsOfConversations } from './conversation/rows-of-conversations.ts';
import type { Store, TemporalNamespace } from './store.ts';
import { prepareTenantRole } from './database/tenant-role.ts';
import { createTemporalHome, readTemporalHome } from './temporal-home.ts';
import { createToolCalls } from './tool-calls.ts';
import { createTranscript } from './transcript.ts';

const DEFAULT_POOL_SIZE = 10;
/** Who asks whether Postgres answers, such as a load balancer, does not wait for as long as statements may take. */
const PING_MS = 5_000;

/** Without keys, secrets are stored as text. */
const NO_KEYS: EncryptionKeys = { byId: new Map() };

/** Fields of the settings. */
export interface BlobOptions {
  LONGSHORE_BLOBS?: string | undefined;
  LONGSHORE_INSTALLATION: string;
}

export interface StoreOptions {
  url: string;
  log: Logger;
  poolSize?: number;
  blobs?: BlobOptions;
  keys?: EncryptionKeys;
  migrate?: 'yes' | 'no';
}

/**
 * Opens the store on a Postgres database and brings its schema up to date if necessary and allowed. Every method may fail with `POSTGRES_UNAVAILABLE`;
 * connections are restored automatically. Dispose it to close them.
 * @param options.blobs where archives are kept, and the name of the installation; Postgres by default
 * @param options.keys for secrets that the store has to give back: of webhooks, of the hosts' authority, and tokens of MCP servers
 * @param options.migrate `no`: leaves the schema as it is
 * @param options.poolSize maximum of connections (default 10), and as many again for statements of tenants; one more when events are followed
 * @throws POSTGRES_UNAVAILABLE; DATABASE_NEWER when this version cannot work with the schema; DATABASE_OLDER when it may not change it
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { url, log, blobs: { LONGSHORE_BLOBS: address, LONGSHORE_INSTALLATION: installation } = { LONGSHORE_INSTALLATION: 'longshore' } } = options;
  const database = openDatabase({ url, log, poolSize: options.poolSize ?? DEFAULT_POOL_SIZE });
  const blobs = createBlobStore({ address, installation, database });
  const announcer = createAnnouncer({ database, log });
  const listener = createListener({ url, log });
  const box = createSecretBox(options.keys ?? NO_KEYS);
  const parts = { database, announcer, listener };
  try {
    await fitSchema(database, url, options.migrate ?? 'yes');
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    conversations: createConversations(parts),
    messages: createMessages(parts),
    transcript: createTranscript(parts),
    compactions: createCompactions(parts),
    toolCalls: createToolCalls(parts),
    events: createEvents(parts),
    sandboxes: createSandboxRows(parts),
    pluginStore: createPluginStore(parts),
    webhooks: sealedWebhooks(createWebhooks(parts), box),
    apiKeys: createApiKeys(parts),
    limits: createLimitRows(parts),
    requestAnswers: createRequestAnswers(parts),
    usage: createUsageRows(parts),
    taskQuestions: createTaskQuestions(parts),
    judgements: createJudgements(parts),
    audit: createAudit(parts),
    hosts: createHosts({ database, box }),
    fleet: createFleet(database),
    removal: createRemoval(parts),
    ...createLinks(parts),
    clientCalls: createClientCalls(parts),
    signIns: createSignIns({ database, box }),
    temporalHome: createTemporalHome(parts),
    pools: createPools(parts),
    snapshots: createSnapshots(parts),
    ...createRowsOfConversations(parts),
    memory: createMemory(parts),
    samples: createSamples(parts),
    blobs,
    backups: createBackups(parts),
    plugins: createPluginStates(parts),
    prepareTenants: () => prepareTenantRole(url),
    ping: () =>
      inTimeOr(database.query('ping', 'select 1', []), PING_MS, undefined).then(
        (answer) => answer !== undefined,
        () => false,
      ),
    async [Symbol.asyncDispose]() {
      await announcer.settled();
      await listener.close();
      await database.close();
    },
  };
}

/** What has to be done until this version and the schema of the database fit, and the namespace of Temporal to which it belongs. Changes nothing. */
export async function readSchema({ url, log }: Pick<StoreOptions, 'url' | 'log'>): Promise<SchemaState & { home?: TemporalNamespace }> {
  const database = openDatabase({ url, log, poolSize: 1 });
  try {
    const [state, home] = [await readSchemaState(database), await readTemporalHome(database)];
    return { ...state, ...(home && { home }) };
  } finally {
    await database.close();
  }
}
