import type { EgressRule } from '../contracts/agent.ts';
import type { SandboxTier } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import type { SandboxSample } from '../contracts/host-facts.ts';
import { parseControl } from './control-options.ts';
import type { FreezeOptions } from '../sandbox/api/host-sandboxes.ts';
import { untilRoom } from '../sandbox/api/until-room.ts';
import { readInfo, type SandboxInfo } from './sandbox-info.ts';
import type { SnapshotInfo } from '../sandbox/api/snapshots.ts';
import type { ForkOptions } from './option-types.ts';
import type { ControlParts } from './with-sandboxes.ts';

/** Operations on a sandbox as a whole. They do not wake a resting sandbox, except `wake`; `snapshot` and `fork` bring an archived one back to the host. */
export interface SandboxControl {
  /** Prolongs its time to live: it does not expire for at least this many milliseconds from now. @throws SANDBOX_DESTROYED */
  keepalive(milliseconds: number): Promise<void>;
  /** Work in progress keeps it awake, unless the mode is `pause`. Returns the tier afterwards. */
  freeze(options?: FreezeOptions): Promise<SandboxTier>;
  /** Saves it with its processes to disk. When the host does not support this, it is stopped. Returns the tier afterwards. */
  hibernate(): Promise<SandboxTier>;
  /** Ends its processes and keeps its files. */
  stop(): Promise<SandboxTier>;
  /** Packs it into the blob store and removes it from its host. The next use restores it. */
  archive(): Promise<SandboxTier>;
  /** Waits for memory of its host, as `openSandbox` does. */
  wake(): Promise<SandboxTier>;
  tier(): Promise<SandboxTier>;
  info(): Promise<SandboxInfo>;
  /**
   * Its current resource usage; for a hibernated or stopped sandbox, what it has on disk. Undefined in other tiers, for a sandbox of another host, and when the
   * backend cannot measure it.
   */
  metrics(): Promise<SandboxSample | undefined>;
  /** Copies it as it is at one moment. A snapshot without a name is removed when there are too many, when it is too old, or when its sandbox is destroyed. */
  snapshot(options?: { name?: string }): Promise<SnapshotInfo>;
  /** Creates `count` (default 1, at most 32) copies of the sandbox as it is now, and returns their ids. They expire after `ttlMs` ms, default one hour. */
  fork(options?: ForkOptions): Promise<string[]>;
  /**
   * Replaces the rules about the hosts that it may reach. They apply at once in this process. Another process that has the sandbox open applies them from the
   * guest's next connection on, or, when there were no rules before, within seconds of its next use. Open connections of the guest are closed.
   */
  setEgress(rules: (string | EgressRule)[]): Promise<void>;
}

export const HOUR_MS = 3_600_000;

export function createControl({ store, sandboxes }: ControlParts, sandboxId: string): SandboxControl {
  return {
    async keepalive(...given) {
      const [milliseconds] = parseControl('keepalive', given);
      if (!(await store.sandboxes.prolong(sandboxId, milliseconds))) throw failure('SANDBOX_DESTROYED', { sandboxId });
    },
    async freeze(...given) {
      const [options] = parseControl('freeze', given);
      return sandboxes.freeze(sandboxId, options);
    },
    hibernate: () => sandboxes.hibernate(sandboxId),
    stop: () => sandboxes.stop(sandboxId),
    archive: () => sandboxes.archive(sandboxId),
    wake: () => untilRoom(() => sandboxes.wake(sandboxId)),
    tier: () => sandboxes.tier(sandboxId),
    info: () => readInfo({ store, sandboxes }, sandboxId),
    metrics: async () => (await sandboxes.measure?.({ disk: true, sandboxId }))?.find((sample) => sample.sandboxId === sandboxId),
    async snapshot(...given) {
      const [options] = parseControl('snapshot', given);
      return sandboxes.snapshot(sandboxId, options);
    },
    async fork(...given) {
      const [{ count = 1, ttlMs = HOUR_MS } = {}] = parseControl('fork', given);
      return sandboxes.fork(sandboxId, count, { ttlMs });
    },
    async setEgress(...given) {
      const [rules] = parseControl('setEgress', given);
      if (!sandboxes.setEgress)
        throw failure('INVALID_ARGUMENT', { what: 'setEgress', problem: 'the backend has no such rules', fix: 'Use the backend "docker"' });
      await sandboxes.setEgress(sandboxId, rules);
    },
  };
}
