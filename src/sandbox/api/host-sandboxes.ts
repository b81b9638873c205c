import type { SandboxOptions } from '../../contracts/agent.ts';
import type { SandboxTier } from '../../contracts/conversation.ts';
import type { SandboxCapabilities, SandboxSample, WarmPool } from '../../contracts/host-facts.ts';
import type { Evacuated, InUse } from './evacuation.ts';
import type { HostFacts } from '../../store/service/fleet.ts';
import type { BackupTry } from '../../store/blobs/backups.ts';
import type { OpenedSandbox, SandboxOwner } from './sandbox.ts';
import type { SandboxSnapshots } from './snapshots.ts';

/** The sandboxes of one worker's engine. Lifecycle operations are idempotent and safe against other workers. */
export interface Sandboxes extends SandboxSnapshots {
  /** Id of the host in the rows of its sandboxes. Absent in backends whose sandboxes any worker reaches. */
  readonly hostId?: string;
  /**
   * Passes when this host has what a sandbox needs that is on no host, or when none is known that has it now.
   * @throws SANDBOX_UNREACHABLE with a host that is to have it
   */
  checkFits?(owner: SandboxOwner, options: SandboxOptions): Promise<void>;
  /** Creates the owner's sandbox, or wakes it when it exists. A lost sandbox is rebuilt on its old files. */
  open(owner: SandboxOwner, options: SandboxOptions): Promise<OpenedSandbox>;
  /** Returns the tier of the sandbox afterwards: `running` when work in progress keeps it awake. */
  freeze(sandboxId: string, options?: FreezeOptions): Promise<SandboxTier>;
  /**
   * Saves a sandbox with its processes to disk; the processes continue when it wakes. When the host or the container does not support this, the sandbox is
   * stopped, or left unchanged with `otherwise: 'stay'`. `expiresAt`: as for `destroy`. Returns the tier of the sandbox afterwards.
   */
  hibernate(sandboxId: string, options?: { otherwise: 'stop' | 'stay'; expiresAt?: string }): Promise<SandboxTier>;
  /** Wakes the sandbox from any tier of rest. */
  wake(sandboxId: string): Promise<SandboxTier>;
  /** Ends the container and keeps the files. `expiresAt`: as for `destroy`. */
  stop(sandboxId: string, only?: { expiresAt: string }): Promise<SandboxTier>;
  /**
   * Packs a sandbox into the blob store and removes it from this host. The next access restores it, on the host of that access. Its processes are packed too
   * when they can be saved to disk and copied. Otherwise they end, or with `otherwise: 'stay'` the sandbox is not archived. Returns the tier afterwards.
   */
  archive(sandboxId: string, options?: { otherwise: 'stop' | 'stay' }): Promise<SandboxTier>;
  /**
   * Stores the files of a sandbox that is on this host as a backup, and wakes it for that. Reads only what has changed since the last one. Absent in backends that
   * cannot bring files back. @throws the error of the sandbox or of the blob store; the last backup is as good as before then
   */
  backUp?(attempt: BackupTry, options: BackUpOptions): Promise<BackUpOutcome>;
  /** Removes container, volume, archive and backup. Named snapshots stay. `expiresAt`: only if it still expires then, and not if it is prolonged meanwhile. */
  destroy(sandboxId: string, only?: { expiresAt: string }): Promise<void>;
  /** Tier from the sandbox's row, checked against the engine. */
  tier(sandboxId: string): Promise<SandboxTier>;
  /** What this host's engine can do, found by a trial. With gVisor, the first call takes some seconds. */
  capabilities(): Promise<SandboxCapabilities>;
  /**
   * Says from now on that this host is there. When it has not for LONGSHORE_HOST_LOST_AFTER, opens on other hosts make its sandboxes anew there. Absent in backends
   * whose sandboxes stay where they are.
   */
  keepHost?(): Promise<AsyncDisposable>;
  /** What this host has for sandboxes, and promises to them, with those of the images that it has. */
  facts?(images: readonly string[]): Promise<Omit<HostFacts, 'version'>>;
  /** Whether this host is being drained: it gets no sandboxes. */
  isDraining?(): boolean;
  /** Whether this host has not reached the database for so long that other hosts may take its sandboxes over. */
  mayBeGivenUp?(): boolean;
  /** Ids of other hosts that have been silent for so long that their sandboxes may be taken over. */
  lostHosts?(): Promise<string[]>;
  /** Takes a sandbox from this host that is not in use, into the blob store. */
  evacuate?(sandboxId: string, inUse: InUse): Promise<Evacuated>;
  /**
   * Keeps warm sandboxes ready in the background; a conversation takes one over in a few milliseconds. On disposal, removes those that no other process keeps.
   * Absent in backends that create every sandbox on request.
   */
  keepWarm?(pools: WarmPool[]): AsyncDisposable;
  /** Removes orphans (containers, volumes and blobs of this host that no row owns) and expired snapshots. Marks rows whose container is gone as `lost`. */
  reap(): Promise<{ removedContainers: string[]; removedVolumes: string[]; lost: string[] }>;
  /**
   * Resource usage of the running sandboxes of this host, or of one of them. `disk` adds the size of their files, and the hibernated and stopped sandboxes;
   * it costs the engine more. Absent in backends that cannot measure.
   */
  measure?(options: { disk: boolean; sandboxId?: string }): Promise<SandboxSample[]>;
  /**
   * Replaces the rules about the hosts that a sandbox may reach. They apply at once in this process. Another process that has the sandbox open applies them
   * from the guest's next connection on, or, when there were no rules before, within seconds of its next use. Open connections of the guest are closed.
   * Absent in backends without such rules.
   */
  setEgress?(sandboxId: string, rules: NonNullable<SandboxOptions['egress']>): Promise<void>;
  /** Closes all connections. The sandboxes continue to run. */
  [Symbol.asyncDispose](): Promise<void>;
}
export interface BackUpOptions {
  /** How many checkpoints of the sandbox remain. */
  keep: number;
  signal: AbortSignal;
}
/** `superseded`: the sandbox has another container by now, or another backup. `gone`: it is destroyed, archived or paused. */
export type BackUpOutcome = 'stored' | 'unchanged' | 'superseded' | 'gone';
export interface FreezeOptions {
  /**
   * What happens to operations in progress: followed commands, code, transfers. `idle`, the default: they keep the sandbox awake, or thaw it again.
   * `pause`: they are frozen with the sandbox, and their callers wait until it is woken.
   */
  mode?: 'idle' | 'pause';
}
