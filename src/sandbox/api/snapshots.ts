import type { Readable } from 'node:stream';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { OpenedSandbox, SandboxOwner } from './sandbox.ts';

export interface SnapshotInfo {
  snapshotId: string;
  /** The copied sandbox. A named snapshot remains when the sandbox is destroyed. */
  sandboxId: string;
  tenantId: string;
  name?: string;
  /** Whether it contains the processes, which then continue in the restored sandbox. */
  memory: boolean;
  hostId: string;
  /** ISO 8601. */
  createdAt: string;
}

export interface CopyRequest {
  owner: SandboxOwner;
  options: SandboxOptions;
  /** An earlier attempt may have died, and may have left the copied sandbox frozen. */
  isRepeated: boolean;
}

/** Copies of sandboxes. A copy stays on the host of its sandbox; the bytes are copied inside the engine. */
export interface SandboxSnapshots {
  /**
   * Copies a sandbox as it is at one moment: its files, and its processes when the host supports it. The sandbox is frozen during the copy.
   * Snapshots without a name are removed when they are too old or too many. Named ones are never removed: at the limit, the call fails with `SNAPSHOT_LIMIT`.
   */
  snapshot(sandboxId: string, options?: { name?: string }): Promise<SnapshotInfo>;
  /** Snapshots of all hosts, the oldest first. */
  snapshots(filter?: { sandboxId?: string; tenantId?: string }): Promise<SnapshotInfo[]>;
  /** Creates a sandbox from a snapshot and opens it. `lost` names the commands that the snapshot does not contain. The owner's id must be new. */
  restore(snapshotId: string, owner: SandboxOwner): Promise<OpenedSandbox>;
  /** Succeeds when the snapshot does not exist. */
  removeSnapshot(snapshotId: string): Promise<void>;
  /** Creates a sandbox for an owner, with options of its own, that has the files of this one as they are now. Does nothing when the owner's exists. */
  copyFor(sandboxId: string, request: CopyRequest): Promise<void>;
  /**
   * Makes the owner's sandbox of a gzipped tar of everything under `/home`, without starting it. A sandbox of an earlier attempt, which has no conversation yet, is
   * replaced. @throws INVALID_ARGUMENT when the id belongs to another sandbox
   */
  unpack(content: Readable, owner: SandboxOwner, options: SandboxOptions): Promise<void>;
  /**
   * Creates `count` copies of this sandbox as it is now; the sandbox itself continues. They belong to the same tenant and expire after `ttlMs`, or never.
   * Returns their ids; open them with these.
   */
  fork(sandboxId: string, count: number, options?: { ttlMs?: number }): Promise<string[]>;
  /**
   * Makes the owner's sandbox as a copy of this one, with its processes when that is asked for and the host supports it. The owner's id must be new. The sandbox
   * exists when its files are complete and `isWanted`, asked after they were read, says yes; undefined when it says no.
   */
  copyTo(sandboxId: string, owner: SandboxOwner, options: CopyOptions): Promise<{ processes: boolean } | undefined>;
}
export interface CopyOptions {
  processes: boolean;
  isWanted: () => Promise<boolean>;
}
