import type { Logger } from '../../platform/log.ts';
import type { Store } from '../../store/store.ts';
import type { Plugin } from '../api/define-plugin.ts';
import type { Isolates } from '../isolates/load-isolated.ts';
import type { Registry } from '../registry/registry.ts';
import type { PluginSource } from './plugin-source.ts';

export interface ManagerOptions {
  sources: PluginSource[];
  /** Where the names of sources are looked for. */
  directory: string;
  hostPlugins: string[];
  /** Refuses plugins that ask for something that no operator granted. Default: they have what they ask for, and the log says so. */
  requireGrants?: boolean;
  /** Where plugins run; without it only those of `hostPlugins` can be loaded. */
  isolates: Isolates | undefined;
  /** Plugins that are part of the worker; they may ask the registry that they become part of. */
  builtins: (registry: Registry) => Plugin[];
  store: Pick<Store['plugins'], 'settings' | 'takeBackConfig' | 'report' | 'stillHere' | 'forget' | 'follow'>;
  hostId: string;
  environment: (name: string) => string | undefined;
  log: Logger;
  /** Told after each change, once all sources have been loaded. */
  onChange?: (registry: Registry) => void;
  /** How long a plugin that was replaced may go on with its calls. Default one hour. */
  drainMs?: number;
}
