import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';

/** The sandboxes in which the tools of a plugin run: one for each tenant, for all its conversations. */
export interface OwnSandbox {
  /**
   * Opens the sandbox of a tenant, and makes it at the first call. `held`: this process had opened it before.
   * @param isBegun the call may have started something there already: when the files are gone, this throws SANDBOX_LOST, and makes no other sandbox
   * @param mayMove the caller can go on on another host, if this one is being drained
   */
  open(tenantId: string, isBegun: boolean, mayMove?: boolean): Promise<{ handle: WorkerHandle; held: boolean }>;
  /** The sandbox of a tenant, and since when it has its files; undefined when there is none. */
  find(tenantId: string): Promise<{ createdAt: string; filesLostAt?: string } | undefined>;
  /** Drops a handle whose container is gone. */
  forget(tenantId: string): void;
}
