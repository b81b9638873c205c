import type { OpenedSandbox, SandboxOwner } from './sandbox.ts';

export interface SnapshotInfo {
  snapshotId: string;
  /** The sandbox it is of; a snapshot with a name outlives it. */
  sandboxId: string;
  tenantId: string;
  name?: string;
  /** Whether its processes were taken along, and go on in what is restored from it. */
  memory: boolean;
  hostId: string;
  /** ISO 8601. */
  createdAt: string;
}

/** Copies of sandboxes. They stay on the host they were made on; the bytes are copied inside its engine. */
export interface SandboxSnapshots {
  /**
   * Copies a sandbox as it is at one moment, during which it stands still: its files, and its processes where the host can. It goes on afterwards.
   * One without a name is removed when it is too old or one too many; for one with a name there is `SNAPSHOT_LIMIT`.
   */
  snapshot(sandboxId: string, options?: { name?: string }): Promise<SnapshotInfo>;
  /** The oldest first, of all hosts. */
  snapshots(filter?: { sandboxId?: string; tenantId?: string }): Promise<SnapshotInfo[]>;
  /** Makes a sandbox of a snapshot and opens it. `lost` tells which commands did not come along. The owner's id has to be new. */
  restore(snapshotId: string, owner: SandboxOwner): Promise<OpenedSandbox>;
  /** Done as well when there is none. */
  removeSnapshot(snapshotId: string): Promise<void>;
  /** Makes `count` sandboxes that begin as this one is now; it goes on. They expire after `ttlMs`, or never. Open them by the ids returned; they belong to the same tenant. */
  fork(sandboxId: string, count: number, options?: { ttlMs?: number }): Promise<string[]>;
}
