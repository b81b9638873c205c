import type { SandboxCheckpoints } from './checkpoints.ts';
import type { CheckpointDifferences } from './differences.ts';
import type { SandboxCode } from './code.ts';
import type { SandboxCommands } from './commands.ts';
import type { SandboxFiles } from './files.ts';
import type { DirectoryArchives } from './directory-archives.ts';
import type { HostMethods } from './host-methods.ts';
import type { SandboxPlace } from '../../store/sandbox-rows.ts';
import type { SandboxTerminals } from './terminals.ts';

/**
 * One sandbox. Every method first wakes it from any tier of rest.
 * All errors are `LongshoreError`s. `SANDBOX_LOST` means that the container died.
 */
export interface SandboxHandle extends SandboxCommands, SandboxFiles, SandboxCode, SandboxTerminals {
  readonly sandboxId: string;
}

/** The handle of a worker. */
export interface WorkerHandle extends SandboxHandle, HostMethods, SandboxCheckpoints, CheckpointDifferences, DirectoryArchives {
  /** Number of the container that the newest call has reached; undefined before the first. Absent in backends whose containers have no numbers. */
  fence?(): number | undefined;
}

/** The container from which the answers of a handle come; undefined when it is not known. */
export function placeOf(handle: WorkerHandle | undefined): SandboxPlace | undefined {
  const fence = handle?.fence?.();
  return handle && fence !== undefined ? { sandboxId: handle.sandboxId, fence } : undefined;
}

/** Asked before an operation may wake the sandbox: throws when it must not, since a pause holds it. */
export type MayWake = () => Promise<unknown>;

export interface SandboxOwner {
  /** Deterministic: derived from the conversation id. */
  sandboxId: string;
  conversationId?: string;
  tenantId: string;
  /** Milliseconds until a new sandbox expires; the reaper of a worker, or the next `openSandbox` on its host, then does what `onTtl` says. Absent: never. */
  ttlMs?: number;
  /** Permits a sandbox with another id, such as a warm one. Default: true with a `conversationId`, since a conversation finds its sandbox under any id. */
  anyId?: boolean;
  /** For a caller that may not wake the sandbox at any time. */
  mayWake?: MayWake;
  /** The caller can ask another host: a sandbox that is on none is refused where another host has more room. */
  mayMove?: boolean;
}

export interface OpenedSandbox {
  handle: WorkerHandle;
  /** What an earlier run of this sandbox lost, as a text for the model. Absent when nothing was lost. */
  lost?: string;
}
