import type { Transform } from 'node:stream';
import type { SandboxTier } from '../../../contracts/conversation.ts';
import { failure } from '../../../contracts/errors.ts';
import { elsewhereFailure } from '../../api/elsewhere.ts';
import type { Logger } from '../../../platform/log.ts';
import type { BlobStore } from '../../../store/blobs/blob-store.ts';
import type { SandboxRow, SandboxState } from '../../../store/sandbox-rows.ts';
import type { HostDisk } from '../../../store/service/fleet.ts';
import type { Store } from '../../../store/store.ts';
import type { SandboxCapabilities } from '../../../contracts/host-facts.ts';
import type { Connections } from './connections.ts';
import type { Engine } from '../../engine/engine.ts';
import type { HostLease } from './host-lease.ts';
import type { Openers } from './openers.ts';
import type { KeptPools } from './kept-pools.ts';
import type { Work } from './work.ts';

/** What every operation on sandboxes needs. */
export interface DockerContext {
  engine: Engine;
  rows: Store['sandboxes'];
  poolRows: Store['pools'];
  /** The pools that this process keeps. */
  pools: KeptPools;
  snapshots: Store['snapshots'];
  blobs: BlobStore;
  backups: Store['backups'];
  /** Makes what is stored of a backup smaller. */
  compress: () => Transform;
  connections: Connections;
  /** This process's operations in progress. */
  work: Work;
  openers: Openers;
  installation: string;
  hostId: string;
  hosts: Pick<Store['hosts'], 'lostSince' | 'lost'>;
  /** What this host is called beside its id. */
  hostLabels: string[];
  /** Those of its engine; undefined where there are none. */
  runtimes: () => Promise<string[] | undefined>;
  /** That of its engine; undefined where it is not known. */
  disk: () => Promise<HostDisk | undefined>;
  fleet: Pick<Store['fleet'], 'candidates' | 'hosts' | 'agesOfCopies' | 'noteDisk'>;
  /** Those that wait for memory of hosts, and how long one may. */
  roomQueue: Store['roomQueue'];
  hostWaitMs: number;
  events: Pick<Store['events'], 'append'>;
  /** Silence after which a host is lost. Milliseconds. */
  lostAfterMs: number;
  lease: HostLease;
  standardImage: string;
  /** Whether a checkpoint may be copied to another container through a helper that mounts the engine's checkpoints. */
  copyCheckpoints: boolean;
  capabilities: () => Promise<SandboxCapabilities>;
  /** Fails in production when nothing limits the disk use of sandboxes. */
  checkBound: () => Promise<void>;
  /** The reaper does not remove orphans younger than this. Milliseconds. */
  reapGraceMs: number;
  /** The most snapshots that a sandbox may have. */
  snapshotLimit: number;
  /** Age in milliseconds at which a snapshot without a name is removed. */
  snapshotMaxAgeMs: number;
  /** Runs the changes of one sandbox by this process one after the other. Between processes, the compare-and-set of the rows decides. */
  inTurn: <T>(sandboxId: string, change: () => Promise<T>) => Promise<T>;
  log: Logger;
}

/** After so many lost races an operation fails; each lost race means that another caller has made progress. */
const MAX_ATTEMPTS = 50;

/** Repeats an operation until its compare-and-set wins; `attempt` returns undefined when another caller was first. @throws SANDBOX_CONFLICT after too many */
export async function untilSettled<T>(sandboxId: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw failure('SANDBOX_CONFLICT', { sandboxId });
}

/** The row of a sandbox that is on this host or archived. @throws SANDBOX_NOT_FOUND; SANDBOX_UNREACHABLE when it is on another host */
export async function ownRow(context: DockerContext, sandboxId: string): Promise<SandboxRow> {
  const row = await context.rows.get(sandboxId);
  if (row === undefined) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  if (row.hostId !== context.hostId && row.state !== 'archived') throw await elsewhereOrLost(context, row);
  return row;
}

/** The error for a sandbox of another host. It may have been here: what this process still has open of it is closed. */
export function elsewhere({ hostId, lostAfterMs, connections }: DockerContext, { sandboxId, hostId: host }: SandboxRow): Error {
  connections.disconnect(sandboxId);
  return elsewhereFailure({ sandboxId, host, waitMs: lostAfterMs }, hostId);
}

/** The same for work that takes no sandbox over: there is nowhere to send it while the other host is lost. */
async function elsewhereOrLost(context: DockerContext, row: SandboxRow): Promise<Error> {
  const { hosts, hostId, lostAfterMs, connections } = context;
  const { sandboxId } = row;
  const since = await hosts.lostSince(row.hostId, { hostId, lostAfterMs });
  if (since === undefined) return elsewhere(context, row);
  connections.disconnect(sandboxId);
  return failure('SANDBOX_UNREACHABLE', { sandboxId, problem: `it is on host "${row.hostId}", which has not been heard of since ${since}` });
}

export function tierOfState(state: SandboxState): SandboxTier {
  return state === 'creating' || state === 'warm' ? 'none' : state;
}
