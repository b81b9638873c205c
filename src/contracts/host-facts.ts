import type { SandboxOptions } from './agent.ts';

/** Memory limit of a sandbox whose options name none. */
export const DEFAULT_MEMORY_MB = 1024;

export interface SandboxSample {
  sandboxId: string;
  /** Since the sandbox was started, in milliseconds of one processor. */
  cpuMs: number;
  /** 0 for a sandbox that rests. */
  memoryBytes: number;
  /** Includes threads. */
  processes: number;
  /** Its files, and the memory of a hibernated sandbox. Absent when it was not measured. */
  diskBytes?: number;
}
export interface WarmPool {
  /** For logs. */
  name: string;
  /** The options that conversations will request; only a request with the same options gets a sandbox of this pool. */
  options: SandboxOptions;
  /** How many sandboxes wait on this host, independent of the number of workers. */
  size: number;
}
/** What a host can do for its sandboxes. */
export interface SandboxCapabilities {
  /** Containers run in gVisor. */
  gvisor: boolean;
  /** Such a container can be stored on disk with its processes and resumed. */
  checkpoint: boolean;
  /** Why one of these abilities is missing. */
  problem?: string;
}
