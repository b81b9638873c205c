import { createHash } from 'node:crypto';
import type { SandboxOptions } from '../../../contracts/agent.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import { stableJson } from '../../../common/stable-json.ts';

/** What a process knows of the pools that it keeps. */
export interface KeptPools {
  /** Key of the pool whose sandboxes are what these options ask for; undefined when none is kept. */
  keyFor(options: SandboxOptions): string | undefined;
  /** Called with the key of a pool that has given one away. */
  claimed: () => void;
  set(options: SandboxOptions, key: string): void;
  /** Ids of warm sandboxes that this process has talked to, by key of their pool. Some may be gone by now. */
  met: Map<string, string[]>;
  clear(): void;
}

/** Options that make no difference to the container: they say when it rests and what becomes of it. */
const NOT_OF_THE_CONTAINER: ReadonlySet<string> = new Set([
  'template',
  'freezeAfterMs',
  'stopAfterMs',
  'archiveAfterMs',
  'onClose',
  'persist',
  'keepalive',
  'metadata',
  'env',
  'onTtl',
]);

export function createKeptPools(): KeptPools {
  const keys = new Map<string, string>();
  const met = new Map<string, string[]>();
  return {
    keyFor: (options) => (keys.size === 0 ? undefined : keys.get(shapeOf(options))),
    claimed: () => undefined,
    set: (options, key) => void keys.set(shapeOf(options), key),
    met,
    clear() {
      keys.clear();
      met.clear();
    },
  };
}

/** Sandboxes of one key are alike: same options, same image, down to its bytes. */
export function poolKeyOf(options: SandboxOptions, made: { installation: string; imageId: string; runtime: string }): string {
  return createHash('sha256')
    .update(stableJson([shapeOf(options), made]))
    .digest('hex')
    .slice(0, 32);
}

/** Whether a sandbox hibernates decides its runtime; after how long does not. */
function shapeOf({ hibernateAfterMs = 0, ...options }: SandboxOptions): string {
  const kept = Object.entries(options).filter(([name, value]) => value !== undefined && !NOT_OF_THE_CONTAINER.has(name));
  return stableJson({ ...(Object.fromEntries(kept) as JsonObject), hibernates: hibernateAfterMs > 0 });
}
