import type { SandboxOptions } from '../../contracts/agent.ts';
import type { SandboxTier } from '../../contracts/conversation.ts';
import type { SandboxCapabilities, SandboxSample, WarmPool } from '../../contracts/host-facts.ts';
import type { SandboxCode } from './code.ts';
import type { SandboxCommands } from './commands.ts';
import type { SandboxFiles } from './files.ts';
import type { HostMethods } from './host-methods.ts';
import type { SandboxSnapshots } from './snapshots.ts';
import type { SandboxTerminals } from './terminals.ts';

/**
 * One running sandbox. Every method wakes a frozen or stopped sandbox first.
 * All errors are `LongshoreError`s; `SANDBOX_LOST` says that the container died.
 */
export interface SandboxHandle extends SandboxCommands, SandboxFiles, SandboxCode, SandboxTerminals {
  readonly sandboxId: string;
}

/** The same as a worker has it. */
export interface WorkerHandle extends SandboxHandle, HostMethods {}

/** The sandboxes of one worker's engine. Lifecycle operations are idempotent and safe against other workers. */
export interface Sandboxes extends SandboxSnapshots {
  /** Creates the conversation's sandbox or wakes the one it has; a lost one is rebuilt on its old files. */
  open(owner: SandboxOwner, options: SandboxOptions): Promise<OpenedSandbox>;
  /** Returns the tier it really has: `running` where work in progress keeps it awake. */
  freeze(sandboxId: string, options?: FreezeOptions): Promise<SandboxTier>;
  /**
   * Puts a sandbox to disk with its processes, which go on when it wakes. Where the host or the container cannot, it is stopped, or left as it is
   * with `otherwise: 'stay'`; returns the tier it really has.
   */
  hibernate(sandboxId: string, options?: { otherwise: 'stop' | 'stay' }): Promise<SandboxTier>;
  /** Brings it to `running` from any tier of rest. */
  wake(sandboxId: string): Promise<SandboxTier>;
  /** Ends the container, keeps the files. */
  stop(sandboxId: string): Promise<SandboxTier>;
  /**
   * Packs a sandbox into the blob store and removes it from this host; any access brings it back, on whichever host that is. Processes come along where
   * they can be put to disk and copied; else they end, or the sandbox stays with `otherwise: 'stay'`. Returns the tier it really has.
   */
  archive(sandboxId: string, options?: { otherwise: 'stop' | 'stay' }): Promise<SandboxTier>;
  /** Removes container, volume and archive. Snapshots with a name stay. */
  destroy(sandboxId: string): Promise<void>;
  /** Tier by the row, checked against the engine. */
  tier(sandboxId: string): Promise<SandboxTier>;
  /** What this host's engine can do, found out by trying it; the first call takes some seconds where there is gVisor. */
  capabilities(): Promise<SandboxCapabilities>;
  /**
   * Keeps sandboxes ready that conversations take over in a few milliseconds; in the background, until it is disposed. Then those that nobody else keeps
   * are removed. Absent in backends that make every sandbox when it is asked for.
   */
  keepWarm?(pools: WarmPool[]): AsyncDisposable;
  /** Removes containers, volumes, blobs and outdated snapshots of this host that no row owns, and marks rows whose container is gone as lost. */
  reap(): Promise<{ removedContainers: string[]; removedVolumes: string[]; lost: string[] }>;
  /**
   * What the running sandboxes of this host use, or one of them; with `disk`, which costs the engine more, their files too, and what hibernated and stopped ones have on disk.
   * Absent in backends that cannot tell.
   */
  measure?(options: { disk: boolean; sandboxId?: string }): Promise<SandboxSample[]>;
  /**
   * Replaces the rules about the hosts that a sandbox may reach. They hold at once for connections of this process, and for another one when it connects to
   * the sandbox again. Absent in backends without such rules.
   */
  setEgress?(sandboxId: string, rules: NonNullable<SandboxOptions['egress']>): Promise<void>;
  /** Lets go of all connections; sandboxes run on. */
  [Symbol.asyncDispose](): Promise<void>;
}
export interface FreezeOptions {
  /**
   * What happens to operations in progress: commands that somebody follows, code, transfers. `idle`, the default: they come first, and keep the sandbox
   * awake or thaw it again. `pause`: they stand still with it, and their callers wait until it is woken.
   */
  mode?: 'idle' | 'pause';
}
export interface SandboxOwner {
  /** Deterministic: derived from the conversation id. */
  sandboxId: string;
  conversationId?: string;
  tenantId: string;
  /** Milliseconds until a new sandbox expires: somebody's reaper destroys it then. Never when absent. */
  ttlMs?: number;
  /** Whether one with another id will do as well, such as one that is kept warm. A conversation finds its sandbox under any id. */
  anyId?: boolean;
}
export interface OpenedSandbox {
  handle: WorkerHandle;
  /** What an earlier life of this sandbox lost, to be told to the model; absent when nothing was. */
  lost?: string;
}
