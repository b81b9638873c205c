import { failure } from '../../contracts/errors.ts';
import { readEnvironment, type Config } from '../../config.ts';
import type { Logger } from '../../log.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { SandboxRow, Store } from '../../store/store.ts';
import { resolveReferences } from '../references.ts';
import type { SandboxOwner, Sandboxes } from '../sandbox.ts';
import { bringUp } from './bring-up.ts';
import { createCapabilities } from './capabilities.ts';
import { checkTier } from './check-tier.ts';
import { createConnections } from './connections.ts';
import type { DockerContext } from './context.ts';
import { destroy } from './destroy.ts';
import { createTermsOf, type TermsOfOptions } from './terms-of.ts';
import { createEngine } from './engine.ts';
import { freeze } from './freeze.ts';
import { hibernate } from './hibernate.ts';
import { createWakingHandle } from './handle.ts';
import { containerNameOf, volumeNameOf } from './labels.ts';
import { reap } from './reap.ts';
import { stop } from './stop.ts';
import { createTurns } from './turns.ts';

export interface DockerSandboxesOptions {
  config: Pick<Config, 'DOCKER_HOST' | 'LONGSHORE_INSTALLATION' | 'LONGSHORE_HOST_ID' | 'LONGSHORE_SANDBOX_IMAGE' | 'LONGSHORE_COPY_CHECKPOINTS'> &
    TermsOfOptions['config'];
  store: Pick<Store, 'sandboxes' | 'events'>;
  log: Logger;
  /** Age in milliseconds below which the reaper leaves containers and volumes alone that no row owns. Default 60 000. */
  reapGraceMs?: number;
  network?: Pick<TermsOfOptions, 'resolve' | 'trust'>;
}

const SANDBOX_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
const REAP_GRACE_MS = 60_000;

/** The sandboxes of a Docker engine. Touches the engine only when asked to; dispose it to close its connections. */
export function createDockerSandboxes({ config, store, log, reapGraceMs = REAP_GRACE_MS, network = {} }: DockerSandboxesOptions): Sandboxes {
  const engine = createEngine(config.DOCKER_HOST);
  const rows = store.sandboxes;
  const { LONGSHORE_INSTALLATION: installation, LONGSHORE_SANDBOX_IMAGE: standardImage } = config;
  const context: DockerContext = {
    engine,
    rows,
    connections: createConnections({ engine, rows, log, termsOf: createTermsOf({ config, store, log, ...network }) }),
    installation,
    hostId: config.LONGSHORE_HOST_ID,
    standardImage,
    copyCheckpoints: config.LONGSHORE_COPY_CHECKPOINTS === 'yes',
    capabilities: createCapabilities({ engine, installation, standardImage, log }),
    reapGraceMs,
    log,
  };
  // Within one process changes of one sandbox take turns; between processes the rows decide.
  const inTurn = createTurns();

  return {
    async open(owner, options) {
      const { sandboxId, options: stored } = await ensureRow(context, owner, options);
      const secrets = secretsOf(stored);
      const { lost } = await inTurn(sandboxId, () => bringUp(context, sandboxId, 'open'));
      // Outside the turn: a sandbox that somebody freezes right now answers late, and may be destroyed meanwhile.
      const target = { sandboxId, containerName: containerNameOf(context.installation, sandboxId) };
      await context.connections.use(target, (connection) => connection.ping());
      return { handle: createWakingHandle(context, target, secrets), ...(lost !== undefined && { lost }) };
    },
    freeze: (sandboxId) => inTurn(sandboxId, () => freeze(context, sandboxId)),
    hibernate: (sandboxId, { otherwise } = { otherwise: 'stop' }) => inTurn(sandboxId, () => hibernate(context, sandboxId, otherwise)),
    wake: (sandboxId) => inTurn(sandboxId, async () => (await bringUp(context, sandboxId, 'wake')).tier),
    stop: (sandboxId) => inTurn(sandboxId, () => stop(context, sandboxId)),
    destroy: (sandboxId) => inTurn(sandboxId, () => destroy(context, sandboxId)),
    tier: (sandboxId) => checkTier(context, sandboxId),
    capabilities: () => context.capabilities(),
    reap: () => reap(context),
    async [Symbol.asyncDispose]() {
      await context.connections.closeAll();
    },
  };
}

/** The sandbox's row: that of the owner, or of the sandbox that the conversation has already. */
async function ensureRow({ rows, installation, hostId }: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<SandboxRow> {
  const { sandboxId, conversationId, tenantId } = owner;
  if (!SANDBOX_ID.test(sandboxId)) {
    throw failure('INVALID_ARGUMENT', { what: 'sandboxId', problem: JSON.stringify(sandboxId), fix: 'Use up to 100 letters, digits, "_", "." and "-"' });
  }
  return await rows.ensure({
    sandboxId,
    ...(conversationId !== undefined && { conversationId }),
    tenantId,
    state: 'creating',
    hostId,
    containerName: containerNameOf(installation, sandboxId),
    volumeName: volumeNameOf(installation, sandboxId),
    options: { ...options },
  });
}

/** The values for the names of a sandbox's secrets; its row has references to this process's environment only. */
function secretsOf({ secrets = {} }: SandboxOptions): Record<string, string> {
  const resolved = resolveReferences(secrets, readEnvironment);
  if ('values' in resolved) return resolved.values;
  throw failure('CONFIG_INVALID', { name: resolved.missing, problem: 'it is not set, and a secret of the sandbox needs it', fix: 'Set it for the worker' });
}
