/** The options of `openSandbox` and of the calls on sandboxes by their ids, as callers give them. */
import type { SandboxOptions } from '../contracts/agent.ts';
import type { SandboxTier } from '../contracts/conversation.ts';
import type { Logger } from '../platform/log.ts';

/** The database and the backend of the sandboxes, and the tenant that they belong to. */
export interface WhereOptions {
  /** Default `default`. Sandboxes of another tenant are not found. */
  tenantId?: string | undefined;
  /** Default `LONGSHORE_SANDBOX_BACKEND`. */
  backend?: string | undefined;
  /** Default `DATABASE_URL`. */
  databaseUrl?: string | undefined;
  log?: Logger | undefined;
}

/** These options of a type; undefined counts as not given, also for a compiler with `exactOptionalPropertyTypes`. */
type OrUndefined<T, K extends keyof T> = { [Key in keyof Pick<T, K>]: T[Key] | undefined };

/** Options that only a new sandbox takes; those of an existing one are fixed. */
type NewSandboxOptions = OrUndefined<
  SandboxOptions,
  | 'template'
  | 'image'
  | 'memoryMb'
  | 'cpus'
  | 'pids'
  | 'diskMb'
  | 'readOnlyRoot'
  | 'runtime'
  | 'egress'
  | 'env'
  | 'secrets'
  | 'metadata'
  | 'workDirectory'
  | 'onTtl'
>;

/**
 * `template` names a template of the directory `LONGSHORE_TEMPLATES`; options that are given here override its options. With a `template`, a warm sandbox is
 * used when workers of this host keep one with the same options.
 */
export interface OpenSandboxOptions extends NewSandboxOptions, WhereOptions, OrUndefined<SandboxOptions, 'assets'> {
  /** Opens an existing sandbox of the same tenant, in any tier of rest. Absent: creates a new one. Refused together with options of a new sandbox. */
  sandboxId?: string | undefined;
  /**
   * Milliseconds from now until the sandbox expires: it is destroyed, or what `onTtl` says, even if no process disposes it. Default one hour, at most
   * 100 years. For an existing sandbox, it never shortens the time that is left.
   */
  ttlMs?: number | undefined;
  /**
   * Aborts the open, which rejects with INTERRUPTED after it has removed what it had created. An existing sandbox is not removed. Once the sandbox is open,
   * the signal has no effect.
   */
  signal?: AbortSignal | undefined;
}

export interface ListOptions extends WhereOptions {
  /** Only sandboxes in this tier. Default: all except the destroyed ones. */
  tier?: SandboxTier | undefined;
  template?: string | undefined;
}
export interface SnapshotsOptions extends WhereOptions {
  sandboxId?: string | undefined;
}
export interface RestoreOptions extends WhereOptions {
  /** Milliseconds until the new sandbox expires, as for `openSandbox`. Default one hour. */
  ttlMs?: number | undefined;
  /** Aborts the restore, which rejects with INTERRUPTED after it has removed what it had created. */
  signal?: AbortSignal | undefined;
}

export interface ForkOptions {
  count?: number | undefined;
  ttlMs?: number | undefined;
}
