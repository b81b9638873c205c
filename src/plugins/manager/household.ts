import type { PluginSettings } from '../../store/plugin-rows.ts';
import type { Plugin } from '../api/define-plugin.ts';
import type { RegisteredTool } from '../registry/registry.ts';
import type { Compile } from '../schemas/validate-arguments.ts';
import type { ManagerOptions } from './manager-options.ts';
import type { PluginInstance } from './plugin-instance.ts';
import type { LoadedSource, PluginSource } from './plugin-source.ts';

/** What the parts of the manager share: the sources of plugins, and what runs of each. */

/** A source with its running plugins. */
export interface ManagedSource {
  source: PluginSource;
  /** Ids of its plugins when it was last read successfully. */
  ids: string[];
  /** Those plugins, running or not; for the reports. */
  described?: Plugin[];
  instances: PluginInstance[];
  loaded?: LoadedSource;
  /** Why a part of it, or its newest version, does not run. */
  problems: { pluginId?: string; error: Error }[];
}

/** Ids of the plugins of a source: of its newest version, and of those that run, which a version with another id may not have replaced. */
export function idsOf({ ids, instances }: ManagedSource): string[] {
  return [...ids, ...instances.map(({ plugin }) => plugin.id)];
}

/** All sources, and what their plugins need. */
export interface Household {
  readonly options: ManagerOptions;
  readonly sources: ManagedSource[];
  readonly settings: ReadonlyMap<string, PluginSettings>;
  readonly builtins: Plugin[];
  readonly compile: Compile;
  readonly register: (plugin: Plugin) => RegisteredTool[];
  /** Plugins with another owner, such as MCP servers, that could not be tried. */
  readonly refused: { name: string; error: Error }[];
  isEnabled(pluginId: string): boolean;
  publish(): void;
  retire(instances: PluginInstance[], loaded: LoadedSource | undefined): void;
}
