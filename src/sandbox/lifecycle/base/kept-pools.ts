import { createHash } from 'node:crypto';
import type { SandboxOptions } from '../../../contracts/agent.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import { stableJson } from '../../../common/stable-json.ts';

/** What a process knows about the pools that it keeps. */
export interface KeptPools {
  /** Key of the pool whose sandboxes match these options; undefined when this process keeps no such pool. */
  keyFor(options: SandboxOptions): string | undefined;
  /** The templates of the pool that `keyFor` names. Its sandboxes have the name of one of them. */
  templatesFor(options: SandboxOptions): string[];
  /** Called after a warm sandbox was claimed. */
  claimed: () => void;
  set(options: SandboxOptions, key: string): void;
  /** Ids of warm sandboxes that this process has connected to, by key of their pool. Some may not exist any more. */
  met: Map<string, string[]>;
  clear(): void;
}

/** Options that do not change the container. */
const NOT_OF_THE_CONTAINER: ReadonlySet<string> = new Set([
  'template',
  'freezeAfterMs',
  'stopAfterMs',
  'archiveAfterMs',
  'backup',
  'onClose',
  'persist',
  'keepalive',
  'metadata',
  'assets',
  'env',
  'onTtl',
  'hostLabels',
]);

export function createKeptPools(): KeptPools {
  const keys = new Map<string, string>();
  const met = new Map<string, string[]>();
  const templates = new Map<string, Set<string>>();
  const keyFor: KeptPools['keyFor'] = (options) => (keys.size === 0 ? undefined : keys.get(shapeOf(options)));
  return {
    keyFor,
    templatesFor: (options) => [...(templates.get(keyFor(options) ?? '') ?? [])],
    claimed: () => undefined,
    set(options, key) {
      keys.set(shapeOf(options), key);
      const known = templates.get(key) ?? new Set();
      if (options.template !== undefined) templates.set(key, known.add(options.template));
    },
    met,
    clear() {
      keys.clear();
      templates.clear();
      met.clear();
    },
  };
}

/** Sandboxes with the same key have the same options for the container and the same image, identified by its content. */
export function poolKeyOf(options: SandboxOptions, made: { installation: string; imageId: string; runtime: string }): string {
  return createHash('sha256')
    .update(stableJson([shapeOf(options), made]))
    .digest('hex')
    .slice(0, 32);
}

/** The runtime depends on whether a sandbox hibernates, not on the time after which it does. */
function shapeOf({ hibernateAfterMs = 0, ...options }: SandboxOptions): string {
  const kept = Object.entries(options).filter(([name, value]) => value !== undefined && !NOT_OF_THE_CONTAINER.has(name));
  return stableJson({ ...(Object.fromEntries(kept) as JsonObject), hibernates: hibernateAfterMs > 0 });
}
