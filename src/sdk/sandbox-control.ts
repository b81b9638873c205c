import type { EgressRule } from '../contracts/agent.ts';
import type { SandboxTier } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import type { Store } from '../store/store.ts';
import type { SandboxSample } from '../contracts/host-facts.ts';
import { parseControl } from './control-options.ts';
import type { FreezeOptions, Sandboxes } from '../sandbox/api/sandbox.ts';
import { readInfo, type SandboxInfo } from './sandbox-info.ts';
import type { SnapshotInfo } from '../sandbox/api/snapshots.ts';

/** What can be done with a sandbox as a whole. Nothing of it wakes one that rests, but `wake`. */
export interface SandboxControl {
  /** Lets it live for at least so many milliseconds from now on. */
  keepalive(milliseconds: number): Promise<void>;
  /** Work in progress keeps it awake, unless the mode is `pause`; returns the tier that it really has. */
  freeze(options?: FreezeOptions): Promise<SandboxTier>;
  /** Where it cannot be put to disk with its processes it is stopped; returns the tier that it really has. */
  hibernate(): Promise<SandboxTier>;
  /** Ends its processes and keeps its files. */
  stop(): Promise<SandboxTier>;
  /** Packs it into the blob store and removes it from its host; any use brings it back. */
  archive(): Promise<SandboxTier>;
  wake(): Promise<SandboxTier>;
  tier(): Promise<SandboxTier>;
  info(): Promise<SandboxInfo>;
  /** What it uses now; undefined where that is not known: by the backend, or of one that rests without memory. */
  metrics(): Promise<SandboxSample | undefined>;
  /** Copies it as it is at one moment. One without a name is removed when it is too old, one too many, or its sandbox is destroyed. */
  snapshot(options?: { name?: string }): Promise<SnapshotInfo>;
  /** Makes `count` (default 1) sandboxes that begin as this one is now, and returns their ids. Their time to live is `ttlMs`, default one hour. */
  fork(options?: ForkOptions): Promise<string[]>;
  /** Replaces the rules about the hosts that it may reach, from the next connection on. Connections that the new rules do not permit are closed. */
  setEgress(rules: (string | EgressRule)[]): Promise<void>;
}
export interface ForkOptions {
  count?: number;
  ttlMs?: number;
}

export const HOUR_MS = 3_600_000;

export interface ControlParts {
  store: Store;
  sandboxes: Sandboxes;
}

export function createControl({ store, sandboxes }: ControlParts, sandboxId: string): SandboxControl {
  return {
    keepalive: async (...given) => store.sandboxes.prolong(sandboxId, parseControl('keepalive', given)[0]),
    async freeze(...given) {
      const [options] = parseControl('freeze', given);
      return sandboxes.freeze(sandboxId, options);
    },
    hibernate: () => sandboxes.hibernate(sandboxId),
    stop: () => sandboxes.stop(sandboxId),
    archive: () => sandboxes.archive(sandboxId),
    wake: () => sandboxes.wake(sandboxId),
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
