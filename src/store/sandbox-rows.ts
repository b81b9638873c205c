import type { SandboxTier } from '../contracts/conversation.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { StoredBlob } from './blobs/blob-store.ts';

/** State of a sandbox's row; `creating` has a name but perhaps no container yet, `warm` has one that runs and belongs to no conversation yet. */
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
  /** When it may be destroyed, whatever it does; absent where a conversation decides. */
  expiresAt?: string;
  /** Of an archived sandbox. */
  archive?: SandboxArchive;
  /** Frozen for a pause: operations in progress wait until it is woken. Absent while it runs. */
  paused?: boolean;
  lastUsedAt: string;
  createdAt: string;
  /** Where it waits for its conversation, or, without a slot, has waited. */
  pool?: { key: string; slot?: number };
}

/** What an archived sandbox was packed into. */
export interface SandboxArchive {
  /** Of everything under `/home`: a tar stream, gzipped. */
  files: StoredBlob;
  /** Of its checkpoint, when it was archived with its processes. */
  memory?: StoredBlob;
}

/** A change of a sandbox's row. */
export interface SandboxChange {
  state: SandboxState;
  containerId?: string;
  lost?: string;
  /** Notes the moment as `filesLostAt`. */
  filesLost?: boolean;
  hostId?: string;
  volumeName?: string;
  /** Goes with the state `archived`; any other change removes it. */
  archive?: SandboxArchive;
  /** Goes with the state `frozen`; any other change removes it. */
  paused?: boolean;
}

export interface SnapshotRow {
  snapshotId: string;
  /** Of the sandbox it was made of, which may be gone. */
  sandboxId: string;
  tenantId: string;
  /** Absent for an automatic one, which goes when there are too many or it is too old. */
  name?: string;
  /** False while it is being made. */
  ready: boolean;
  hostId: string;
  volumeName: string;
  /** Volume with the checkpoint of its processes; absent when they were not taken along. */
  memoryVolume?: string;
  /** Those of the sandbox. */
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
