import type { Transform } from 'node:stream';
import { createGzip } from 'node:zlib';
import { parseDuration } from '../../common/duration.ts';
import { createTurnsByKey } from '../../common/turns.ts';
import { isFailure } from '../../contracts/errors.ts';
import { needsOf } from '../../contracts/hosts/needs.ts';
import type { Config } from '../../platform/config.ts';
import type { Logger } from '../../platform/log.ts';
import { elsewhereOf } from '../api/elsewhere.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { BackupTry } from '../../store/blobs/backups.ts';
import type { Store } from '../../store/store.ts';
import type { OpenedSandbox, SandboxOwner } from '../api/sandbox.ts';
import type { BackUpOptions, Sandboxes } from '../api/host-sandboxes.ts';
import { archive } from './rest/archive.ts';
import { bringUpSandbox } from './rest/bring-up-sandbox.ts';
import { backUp } from './copies/back-up.ts';
import { createCapabilities } from './base/sandbox-capabilities.ts';
import { createHostLease } from './base/host-lease.ts';
import { createBoundCheck } from '../engine/disk-bound.ts';
import { checkTier } from './base/check-tier.ts';
import { createConnections } from './base/connections.ts';
import { untilSettled, type DockerContext } from './base/docker-context.ts';
import { destroy } from './remove/destroy.ts';
import type { Engine } from '../engine/engine.ts';
import { ensureRow } from './make/ensure-row.ts';
import { unpackHome } from './copies/unpack-home.ts';
import { copySandboxTo } from './copies/copy-to.ts';
import { fork } from './copies/fork.ts';
import { createTermsOf, type TermsOfOptions } from './terms-of.ts';
import { freeze } from './rest/freeze.ts';
import { hibernate } from './rest/hibernate.ts';
import { diskIn, factsOf, presentOf } from './room/facts-of.ts';
import { withRoom } from './room/with-room.ts';
import { createOwnDisk } from './room/own-disk.ts';
import { createOwnRuntimes } from './room/own-runtimes.ts';
import { checkPlace } from './room/place.ts';
import { checkFits } from './room/send-away.ts';
import { evacuate } from './rest/evacuate.ts';
import { claimWarm } from './pool/claim-warm.ts';
import { keepWarm } from './pool/keep-warm.ts';
import { createKeptPools } from './base/kept-pools.ts';
import { measureSandboxes } from './measure-sandboxes.ts';
import { removeIdleHolder } from './base/holder.ts';
import { createOpeners } from './base/openers.ts';
import { reap } from './reap/reap.ts';
import { removeSnapshot } from './remove/remove-snapshot.ts';
import { handleFor, openKnown, secretsOf } from './open-known.ts';
import { restoreAndOpen } from './restore-and-open.ts';
import { setEgress } from './set-egress.ts';
import { toInfo } from './copies/snapshot.ts';
import { snapshotAndStore, storeSnapshots } from './copies/store-snapshot.ts';
import { stop } from './rest/stop.ts';
import { withdraw } from './remove/withdraw.ts';
import { createWork } from './rest/create-work.ts';

export interface SandboxesOptions {
  config: Pick<
    Config,
    | 'LONGSHORE_INSTALLATION'
    | 'LONGSHORE_HOST_ID'
    | 'LONGSHORE_HOST_LOST_AFTER'
    | 'LONGSHORE_HOST_MEMORY'
    | 'LONGSHORE_MIN_FREE_DISK'
    | 'LONGSHORE_HOST_WAIT'
    | 'LONGSHORE_HOST_LABELS'
    | 'LONGSHORE_SANDBOX_IMAGE'
    | 'LONGSHORE_COPY_CHECKPOINTS'
    | 'LONGSHORE_SNAPSHOT_LIMIT'
    | 'LONGSHORE_SNAPSHOT_DAYS'
    | 'NODE_ENV'
  > &
    TermsOfOptions['config'];
  store: Pick<Store, 'sandboxes' | 'pools' | 'snapshots' | 'blobs' | 'backups' | 'events' | 'hosts' | 'fleet' | 'roomQueue'>;
  log: Logger;
  /** The reaper does not remove orphaned containers and volumes younger than this. Milliseconds. Default 60 000. */
  reapGraceMs?: number;
  role?: TermsOfOptions['role'];
  /** Makes backups smaller. Default: gzip, as little as makes texts small, because the time of a backup is that of its transfer. */
  compress?: () => Transform;
  terms?: Pick<TermsOfOptions, 'resolve' | 'trust' | 'watchDisk'>;
}

const REAP_GRACE_MS = 60_000;
const DAY_MS = 86_400_000;

function contextOf(engine: Engine, options: SandboxesOptions): DockerContext {
  const { config, store, log, reapGraceMs = REAP_GRACE_MS, role = 'worker', terms = {}, compress = () => createGzip({ level: 1 }) } = options;
  const rows = store.sandboxes;
  const { LONGSHORE_INSTALLATION: installation, LONGSHORE_SANDBOX_IMAGE: standardImage, LONGSHORE_HOST_ID: hostId } = config;
  const lostAfterMs = parseDuration(config.LONGSHORE_HOST_LOST_AFTER);
  const lease = createHostLease({ hosts: store.hosts, hostId, lostAfterMs, log });
  const inTurn = createTurnsByKey();
  const context: DockerContext = {
    engine,
    rows,
    poolRows: store.pools,
    pools: createKeptPools(),
    snapshots: store.snapshots,
    blobs: store.blobs,
    backups: store.backups,
    compress,
    connections: createConnections({ engine, rows, log, hostId, lease, termsOf: createTermsOf({ config, store, log, role, ...terms }) }),
    work: createWork(() => context),
    openers: createOpeners(),
    installation,
    hostId,
    hosts: store.hosts,
    hostLabels: config.LONGSHORE_HOST_LABELS,
    runtimes: createOwnRuntimes(engine),
    disk: createOwnDisk(engine, config.LONGSHORE_MIN_FREE_DISK),
    fleet: store.fleet,
    roomQueue: store.roomQueue,
    hostWaitMs: parseDuration(config.LONGSHORE_HOST_WAIT),
    events: store.events,
    lostAfterMs,
    lease,
    standardImage,
    copyCheckpoints: config.LONGSHORE_COPY_CHECKPOINTS === 'yes',
    capabilities: createCapabilities({ engine, installation, standardImage, log }),
    checkBound: createBoundCheck(engine, terms.watchDisk === false ? undefined : config.NODE_ENV),
    reapGraceMs,
    snapshotLimit: config.LONGSHORE_SNAPSHOT_LIMIT,
    snapshotMaxAgeMs: config.LONGSHORE_SNAPSHOT_DAYS * DAY_MS,
    inTurn,
    log,
  };
  return context;
}

/** The sandboxes of an engine. Does not call the engine before a method is called. Dispose it to close its connections. */
export function createSandboxesOf(engine: Engine, options: SandboxesOptions): Sandboxes {
  const { role = 'worker' } = options;
  const context = contextOf(engine, options);
  const { inTurn } = context;
  return {
    open: (owner, options) => open(context, owner, options),
    restore: (snapshotId, owner, waiting) => restoreAndOpen(context, snapshotId, owner, waiting),
    snapshot: (sandboxId, options = {}) => snapshotAndStore(context, sandboxId, options),
    ...(engine.copies !== undefined && { storeSnapshots: (signal: AbortSignal) => storeSnapshots(context, signal) }),
    async snapshots(filter = {}) {
      return (await context.snapshots.list(filter)).filter(({ ready }) => ready).map(toInfo);
    },
    removeSnapshot: (snapshotId) => removeSnapshot(context, snapshotId),
    unpack: (content, owner, options) => unpackHome(context, content, owner, options),
    fork: (sandboxId, count, expiry) => fork(context, sandboxId, count, expiry),
    copyTo: (sandboxId, request) => copySandboxTo(context, sandboxId, request),
    archive: (sandboxId, { otherwise } = { otherwise: 'stop' }) => inTurn(sandboxId, () => archive(context, sandboxId, otherwise)),
    freeze: (sandboxId, { mode = 'idle' } = {}) => inTurn(sandboxId, () => freeze(context, sandboxId, mode)),
    hibernate: (sandboxId, { otherwise, ...only } = { otherwise: 'stop' }) => inTurn(sandboxId, () => hibernate(context, sandboxId, otherwise, only)),
    ...(engine.copies !== undefined && { backUp: (attempt: BackupTry, options: BackUpOptions) => backUp(context, attempt, options) }),
    wake: (sandboxId) => inTurn(sandboxId, async () => (await bringUpSandbox(context, sandboxId, 'wake')).tier),
    stop: (sandboxId, only) => inTurn(sandboxId, () => stop(context, sandboxId, only)),
    destroy: (sandboxId, only) => destroyAs(role, context, sandboxId, only),
    tier: (sandboxId) => checkTier(context, sandboxId),
    setEgress: (sandboxId, rules) => setEgress(context, sandboxId, rules),
    capabilities: () => context.capabilities(),
    ...hostIn(context, options.config),
    keepWarm: (pools) => keepWarm(context, pools),
    reap: () => reap(context),
    measure: (options) => measureSandboxes(context, options),
    [Symbol.asyncDispose]: () => dispose(context, role),
  };
}

/** What concerns the host as a whole. */
function hostIn(
  context: DockerContext,
  config: SandboxesOptions['config'],
): Required<Pick<Sandboxes, 'hostId' | 'keepHost' | 'facts' | 'isDraining' | 'mayBeGivenUp' | 'lostHosts' | 'evacuate' | 'checkFits'>> {
  const { hostId, hosts, lease, lostAfterMs, engine, inTurn } = context;
  return {
    hostId,
    keepHost: () => lease.keep(() => reap(context)),
    facts: async (images) => ({ ...factsOf(await engine.facts(), config), ...diskIn(await context.disk()), ...(await presentOf(context, images)) }),
    isDraining: () => lease.state().isDraining,
    mayBeGivenUp: () => lease.term() === undefined,
    lostHosts: () => hosts.lost({ hostId, lostAfterMs }),
    checkFits: (owner, options) => checkFits(context, owner, options),
    evacuate: (sandboxId, inUse) => inTurn(sandboxId, () => evacuate(context, sandboxId, inUse)),
  };
}

async function destroyAs(role: 'worker' | 'visitor', context: DockerContext, sandboxId: string, only?: { expiresAt: string }): Promise<void> {
  await context.inTurn(sandboxId, () => destroy(context, sandboxId, only));
  // A worker removes an idle holder when it ends and in its reaper. A visitor does so here: it may have removed the last sandbox that needs the holder.
  if (role === 'visitor') await removeIdleHolder(context);
}

async function dispose(context: DockerContext, role: 'worker' | 'visitor'): Promise<void> {
  await context.connections.closeAll();
  if (role === 'worker') await removeIdleHolder(context);
}

async function open(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<OpenedSandbox> {
  // First, so that a missing secret fails before anything is made.
  secretsOf(options);
  await settlePlace(context, owner, options);
  return untilSettled(owner.sandboxId, async () => {
    const { row, isReady } = await withRoom(context, { ...owner, ...needsOf(options), anywhere: owner.mayMove === true }, async () => {
      const warm = await claimWarm(context, owner, options);
      return { row: warm ?? (await ensureRow(context, owner, options)), isReady: warm?.state === 'running' };
    });
    return isReady ? { handle: handleFor(context, row, options, owner.mayWake) } : openOrWithdraw(context, row, owner.mayWake);
  });
}

/** Passes when this host is to have the sandbox. One that rests here and belongs elsewhere leaves this host, if all of it can. */
async function settlePlace(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<void> {
  const leaving = await checkPlace(context, owner, options);
  if (!leaving) return;
  const { sandboxId, to } = leaving;
  if ((await context.inTurn(sandboxId, () => archive(context, sandboxId, 'stay'))) === 'archived') throw to;
}

/** Undefined when another caller has withdrawn the row because its own open failed; then this open starts again. */
async function openOrWithdraw(context: DockerContext, row: SandboxRow, mayWake: SandboxOwner['mayWake']): Promise<OpenedSandbox | undefined> {
  const opener = context.openers.enter(row.sandboxId);
  try {
    const opened = await openKnown(context, row, { mayWake });
    opener.succeed();
    return opened;
  } catch (error) {
    const isLast = opener.fail();
    // The row may be that of another host, which makes the sandbox.
    if (row.state !== 'creating' || elsewhereOf(error)) throw error;
    if (isFailure(error, 'SANDBOX_NOT_FOUND')) return undefined;
    if (isLast) await withdraw(context, row);
    throw error;
  }
}
