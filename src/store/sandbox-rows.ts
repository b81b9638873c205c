import type { SandboxTier } from '../contracts/conversation.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { SandboxBackup } from './blobs/backups.ts';
import type { StoredBlob } from './blobs/blob-store.ts';

/** State of a sandbox's row. `creating`: has a name but perhaps no container yet. `warm`: has a running container and belongs to no conversation yet. */
export type SandboxState = 'creating' | 'warm' | Exclude<SandboxTier, 'none'>;

/** States in which something of a sandbox is on its host. */
export const ON_HOST: SandboxState[] = ['creating', 'warm', 'running', 'frozen', 'hibernated', 'stopped', 'lost'];

export interface SandboxRow {
  sandboxId: string;
  /** Absent for a sandbox used without a conversation. */
  conversationId?: string;
  tenantId: string;
  /** Grows with every change of state; a change names the generation it saw. */
  generation: number;
  /** Number of the only container that may act for it; each one that is made for it gets a higher one. 0: made before containers had numbers. */
  fence: number;
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
  /** The newest complete backup of its files. */
  backup?: SandboxBackup;
  /** When a try began that has found or stored all files in the backup, by the clock of Postgres: that of the backup itself is the one of its host. */
  backedUpAt?: string;
  /** Frozen for a pause: operations in progress wait until it is woken. Absent while it runs. */
  paused?: boolean;
  /** Time since it was paused, by the clock of Postgres. Milliseconds. Absent when an older worker has paused it. */
  pausedMs?: number;
  /** Memory that a host promises to it although it has no processes: until they are started (`wake`), or have been put to disk (`rest`). */
  promised?: { hostId: string; for: 'wake' | 'rest' };
  lastUsedAt: string;
  /** Time since then, by the clock of Postgres. Milliseconds. */
  idleMs: number;
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
  /** Drawn for a container that is to be made, or was made and was not started: all others are superseded. The row has no `containerId` then unless it is given. */
  fence?: number;
  /** Changes nothing when the row has another number: since it was read, it was removed, and made again with the same id and generation. */
  seenFence?: number;
  /** Changes nothing when its lifetime has not ended: since the row was read, it was prolonged, or a conversation has it. */
  ifExpired?: boolean;
  lost?: string;
  /** Stores the current time as `filesLostAt`. */
  filesLost?: boolean;
  hostId?: string;
  volumeName?: string;
  /** Belongs to the state `archived`; any other change removes it. */
  archive?: SandboxArchive;
  /** Belongs to the state `frozen`; any other change removes it. */
  paused?: boolean;
  /** Keeps the memory promised in a state without processes, until `release`. A promise for a `wake` outlasts changes between such states. */
  promisedFor?: 'wake' | 'rest';
}

/** A container of a sandbox, as what came from it is checked against the row. */
export interface SandboxPlace {
  sandboxId: string;
  fence: number;
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
  /** What it is in the blob store, from where any host can have it; absent before it was put there. */
  stored?: SandboxArchive;
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

/** A row to insert. `ttlMs`: milliseconds until it expires. */
export type NewSandbox = Omit<
  SandboxRow,
  'generation' | 'fence' | 'createdAt' | 'lastUsedAt' | 'idleMs' | 'backedUpAt' | 'containerId' | 'expiresAt' | 'pausedMs' | 'promised'
> & {
  fence?: number;
  ttlMs?: number;
};

export interface SandboxRows {
  /** Inserts the row, or returns the conversation's existing one. Without `fence` it draws one. @throws HOST_FULL */
  ensure(row: NewSandbox): Promise<SandboxRow>;
  /** A number for a container, higher than all before. */
  drawFence(): Promise<number>;
  get(sandboxId: string): Promise<SandboxRow | undefined>;
  ofConversation(conversationId: string): Promise<SandboxRow | undefined>;
  list(filter: { hostId?: string; states?: SandboxState[] }): Promise<SandboxRow[]>;
  /**
   * Compare-and-set on `(id, generation)`; returns the new row, or undefined when another change was first. Appends `sandbox.changed` when the sandbox has a
   * conversation.
   */
  change(sandboxId: string, generation: number, change: SandboxChange): Promise<SandboxRow | undefined>;
  /** The same for a sandbox of a host that has been silent for so long, while the host that the change names was there: see `HostRows`. */
  takeOver(sandboxId: string, generation: number, change: SandboxChange & { hostId: string }, lostAfterMs: number): Promise<SandboxRow | undefined>;
  /**
   * Calls `work` with the row as it is then, while no other caller holds the sandbox (for 10 s at most). `shared`: others who share it are let in. The row can change
   * meanwhile: this orders only what holders do to the container.
   */
  hold<Result>(sandboxId: string, mode: 'shared' | 'alone', work: (row: SandboxRow | undefined) => Promise<Result>): Promise<Result>;
  /**
   * Promises memory of the host to a sandbox without processes, before they are started. `token`: names the promise, unless another caller had made it. Undefined when
   * the row has another generation or state. @throws HOST_FULL
   */
  promise(sandboxId: string, generation: number, hostId: string): Promise<{ row: SandboxRow; token?: string } | undefined>;
  /** Ends the promise with that name, unless another caller has joined it; or, without a name, that of a `rest` in that generation. */
  release(sandboxId: string, promise: { token: string } | { generation: number }): Promise<void>;
  /** Sandboxes without processes to which this host has promised memory for so many milliseconds. */
  listPromised(hostId: string, forMs: number): Promise<{ row: SandboxRow; token: string }[]>;
  touch(sandboxId: string): Promise<void>;
  /** Extends the lifetime of a sandbox that has one, to at least so many milliseconds from now. False when it is destroyed, or when there is none. */
  prolong(sandboxId: string, ttlMs: number): Promise<boolean>;
  /** Replaces its egress rules. */
  setEgress(sandboxId: string, rules: JsonObject[string][]): Promise<void>;
  /** Sandboxes whose lifetime has ended and whose action at that time has not been carried out. */
  listExpired(): Promise<SandboxRow[]>;
  /**
   * Gives a free sandbox, which has no conversation or a closed one, to the conversation, or releases it when no conversation is given. Undefined when it
   * does not exist, belongs to another tenant, or is in use.
   */
  adopt(sandboxId: string, tenantId: string, conversationId?: string): Promise<SandboxRow | undefined>;
  remove(sandboxId: string): Promise<void>;
  /** Removes the row if it has that generation; false when another caller has changed or removed it. */
  withdraw(sandboxId: string, generation: number): Promise<boolean>;
}
