import type { SandboxOptions } from './agent.ts';

export interface SandboxSample {
  sandboxId: string;
  /** Since it was started, in milliseconds of one processor. */
  cpuMs: number;
  /** 0 of one that rests. */
  memoryBytes: number;
  /** Threads count as well. */
  processes: number;
  /** Its files, and the memory of a hibernated one. Absent where it was not measured. */
  diskBytes?: number;
}
export interface WarmPool {
  /** For logs. */
  name: string;
  /** What conversations will ask for; nothing else is given one of these. */
  options: SandboxOptions;
  /** How many of them wait on this host, whatever the number of workers. */
  size: number;
}
/** What a host can do for its sandboxes. */
export interface SandboxCapabilities {
  /** Containers run in gVisor. */
  gvisor: boolean;
  /** Such a container can be put to disk with its processes and woken again. */
  checkpoint: boolean;
  /** Why one of them is not there. */
  problem?: string;
}
