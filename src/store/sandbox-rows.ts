import type { SandboxTier } from '../contracts/conversation.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { StoredBlob } from './blobs/blob-store.ts';

/** State of a sandbox's row. `creating`: has a name but perhaps no container yet. `warm`: has a running container and belongs to no conversation yet. */
export type SandboxState = 'creating' | 'warm' | Exclude<SandboxTier, 'none'>;

export interface SandboxRow {
  sandboxId: string;
  /** Absent for a sandbox used without a conversation. */
  conversationId?: string;
  tenantId: string;
  /** Grows with every change of state; a change names the generation it saw. */
  generation: number;
  state: SandboxState;
  /** Id of the host whose engine has the container. */
  hostId: string;
  containerName: string;
  containerId?: string;
  volumeName: string;
  /** The parsed options it was created with. */
  options: JsonObject;
  /** When it was last rebuilt without its old files, and so without the journal of its commands; absent when it never was. */
  filesLostAt?: string;
  /** When it may be destroyed, even while in use; absent when a conversation decides. */
  expiresAt?: string;
  /** Present for an archived sandbox. */
  archive?: SandboxArchive;
  /** Frozen for a pause: operations in progress wait until it is woken. Absent while it runs. */
  paused?: boolean;
  lastUsedAt: string;
  createdAt: string;
  /** The pool in whose slot it waits for a conversation; without `slot`, the pool from which it was taken. */
  pool?: { key: string; slot?: number };
}

/** The blobs of an archived sandbox. */
export interface SandboxArchive {
  /** Everything under `/home`: a tar stream, gzipped. */
  files: StoredBlob;
  /** Its checkpoint, when it was archived with its processes. */
  memory?: StoredBlob;
}

/** A change of a sandbox's row. */
export interface SandboxChange {
  state: SandboxState;
  containerId?: string;
  lost?: string;
  /** Stores the current time as `filesLostAt`. */
  filesLost?: boolean;
  hostId?: string;
  volumeName?: string;
  /** Belongs to the state `archived`; any other change removes it. */
  archive?: SandboxArchive;
  /** Belongs to the state `frozen`; any other change removes it. */
  paused?: boolean;
}

export interface SnapshotRow {
  snapshotId: string;
  /** The sandbox from which it was made, which may no longer exist. */
  sandboxId: string;
  tenantId: string;
  /** Absent for an automatic snapshot, which is removed when there are too many or it is too old. */
  name?: string;
  /** False while it is being created. */
  ready: boolean;
  hostId: string;
  volumeName: string;
  /** Volume with the checkpoint of its processes; absent when they were not included. */
  memoryVolume?: string;
  /** The options of the sandbox. */
  options: JsonObject;
  createdAt: string;
}
export interface SandboxTotals {
  state: SandboxState;
  template: string;
  sandboxes: number;
  cpus: number;
  memoryBytes: number;
  diskBytes: number;
  processes: number;
}
export interface SnapshotFilter {
  sandboxId?: string;
  tenantId?: string;
  hostId?: string;
}
