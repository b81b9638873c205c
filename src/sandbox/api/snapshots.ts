import type { Readable } from 'node:stream';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { OpenedSandbox, SandboxOwner } from './sandbox.ts';
import type { Waiting } from './until-room.ts';

export interface SnapshotInfo {
  snapshotId: string;
  /** The copied sandbox. A named snapshot remains when the sandbox is destroyed. */
  sandboxId: string;
  tenantId: string;
  name?: string;
  /** Whether it contains the processes, which then continue in the restored sandbox. */
  memory: boolean;
  /** Where it was made. */
  hostId: string;
  /** Whether it is in the blob store, from where every host can restore it. */
  stored: boolean;
  /** ISO 8601. */
  createdAt: string;
}

export interface CopyRequest {
  owner: SandboxOwner;
  /** Default: those of the copied sandbox. */
  options?: SandboxOptions;
  /** Copies the processes as well, if the host supports it. */
  processes?: boolean;
  /** The caller can ask another host: a copy of what is in the archive is refused where it would not be made anew. */
  mayMove?: true;
  /** Asked when everything was read. The copy is not made when it says no. */
  isWanted?: () => Promise<boolean>;
  /** Given when an earlier attempt may have died, and may have left the copied sandbox frozen: it is woken then, unless this says that it stays so. */
  staysFrozen?: () => Promise<boolean>;
}
export interface MadeCopy {
  processes: boolean;
}

/** Copies of sandboxes. The bytes are copied inside the engine; where there are several hosts, snapshots are put into the blob store as well. */
export interface SandboxSnapshots {
  /**
   * Copies a sandbox as it is at one moment: its files, and its processes when the host supports it. The sandbox is frozen during the copy.
   * Snapshots without a name are removed when they are too old or too many. Named ones are never removed: at the limit, the call fails with `SNAPSHOT_LIMIT`.
   */
  snapshot(sandboxId: string, options?: { name?: string }): Promise<SnapshotInfo>;
  /** Snapshots of all hosts, the oldest first. */
  snapshots(filter?: { sandboxId?: string; tenantId?: string }): Promise<SnapshotInfo[]>;
  /**
   * Puts the snapshots of this host into the blob store that are not there yet, if there are other hosts. Absent in backends whose copies stay where they are.
   */
  storeSnapshots?(signal: AbortSignal): Promise<void>;
  /**
   * Creates a sandbox from a snapshot, of whichever host, and opens it. `lost` names the commands that the snapshot does not contain. The owner's id must be new.
   * Waits for memory and disk of this host.
   */
  restore(snapshotId: string, owner: SandboxOwner, waiting?: Waiting): Promise<OpenedSandbox>;
  /** Succeeds when the snapshot does not exist. */
  removeSnapshot(snapshotId: string): Promise<void>;
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
   * Makes the owner's sandbox as a copy of this one, which is frozen for that time if it runs, and stays as it is if it rests. The copy exists when its files are
   * complete. Does nothing when the owner's sandbox exists; undefined when it is not wanted any more.
   */
  copyTo(sandboxId: string, request: CopyRequest): Promise<MadeCopy | undefined>;
}
