import type { SandboxTier } from '../../../contracts/conversation.ts';
import { failure } from '../../../contracts/errors.ts';
import type { Logger } from '../../../platform/log.ts';
import type { BlobStore } from '../../../store/blobs/blob-store.ts';
import type { SandboxRow, SandboxState } from '../../../store/sandbox-rows.ts';
import type { Store } from '../../../store/store.ts';
import type { SandboxCapabilities } from '../../../contracts/host-facts.ts';
import type { Connections } from './connections.ts';
import type { CopyJobs, Engine } from '../../engine/engine.ts';
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
  jobs: CopyJobs;
  connections: Connections;
  /** Operations in progress of this process. */
  work: Work;
  openers: Openers;
  installation: string;
  hostId: string;
  standardImage: string;
  /** Whether a checkpoint may be copied to another container through a helper that mounts the engine's checkpoints. */
  copyCheckpoints: boolean;
  capabilities: () => Promise<SandboxCapabilities>;
  /** Fails in production where nothing keeps the disk of sandboxes within its limit. */
  checkBound: () => Promise<void>;
  /** Age in milliseconds below which the reaper leaves things alone that no row owns. */
  reapGraceMs: number;
  /** Snapshots that a sandbox may have. */
  snapshotLimit: number;
  /** Age in milliseconds at which a snapshot without a name goes. */
  snapshotMaxAgeMs: number;
  /** Within one process changes of one sandbox take turns; between processes the rows decide. */
  inTurn: <T>(sandboxId: string, change: () => Promise<T>) => Promise<T>;
  log: Logger;
}

/** Races lost in a row until an operation gives up; each loss means that somebody else has made progress. */
const MAX_ATTEMPTS = 50;

/** Repeats an operation until its compare-and-set wins; `attempt` returns undefined when somebody else was first. Fails with `SANDBOX_CONFLICT`. */
export async function untilSettled<T>(sandboxId: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw failure('SANDBOX_CONFLICT', { sandboxId });
}

/** The row of a sandbox on this host, or on none; `SANDBOX_NOT_FOUND` and, for one of another host, `SANDBOX_UNREACHABLE`. */
export async function ownRow({ rows, hostId }: DockerContext, sandboxId: string): Promise<SandboxRow> {
  const row = await rows.get(sandboxId);
  if (row === undefined) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  if (row.hostId !== hostId && row.state !== 'archived')
    throw failure('SANDBOX_UNREACHABLE', { sandboxId, problem: `it is on host "${row.hostId}", this is "${hostId}"; use it there` });
  return row;
}

export function tierOf(state: SandboxState): SandboxTier {
  return state === 'creating' || state === 'warm' ? 'none' : state;
}
