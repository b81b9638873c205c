import type { Logger } from '../../platform/log.ts';
import type { Store } from '../../store/store.ts';
import type { Plugin } from '../api/define-plugin.ts';
import type { OpenPluginSandboxes } from '../dialects/shared/plugin-dialect.ts';
import type { Isolates } from '../isolates/load-isolated.ts';
import type { Registry } from '../registry/registry.ts';
import type { PluginSource } from './plugin-source.ts';

export interface ManagerOptions {
  sources: PluginSource[];
  /** The directory in which sources are looked up by name. */
  directory: string;
  hostPlugins: string[];
  /** Refuses plugins that ask for a permission that no operator granted. Default: they get what they ask for, and the log reports it. */
  requireGrants?: boolean;
  /** Where plugins run; without it only those of `hostPlugins` can be loaded. */
  isolates: Isolates | undefined;
  /** Sandboxes for plugins that need their own; without it these cannot be loaded. */
  sandboxes?: OpenPluginSandboxes | undefined;
  /** Plugins that are part of the worker. They may query the registry that they become part of. */
  builtins: (registry: Registry) => Plugin[];
  store: Pick<Store['plugins'], 'settings' | 'takeBackConfig' | 'report' | 'stillHere' | 'forget' | 'follow'>;
  hostId: string;
  environment: (name: string) => string | undefined;
  log: Logger;
  /** Called after each change, once all sources have been loaded. */
  onChange?: (registry: Registry) => void;
  /** Milliseconds for which a plugin that was replaced may continue its calls. Default one hour. */
  drainMs?: number;
}
