import type { JsonObject } from '../../../contracts/json.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Sandboxes } from '../../../sandbox/api/host-sandboxes.ts';
import type { Store } from '../../../store/store.ts';
import type { Permissions, Plugin, PluginDefinition, Tool } from '../../api/define-plugin.ts';

/**
 * A style in which plugins are written: all that the host knows about it. The folder of each dialect exports one such object from its `dialect.ts`, and
 * `dialects.ts` lists them. The modules that are bundled into plugins, `sdk.file` and what it imports, import neither of these.
 */
export interface PluginDialect {
  /** The `dialect` of its plugins, and its name for `longshore plugins new`. */
  name: string;
  /** The module that its plugins import. */
  sdk?: SdkModule;
  /** How its plugins are found and loaded. Without it, they are modules that export a plugin, or servers. */
  loader?: PluginLoader;
  /**
   * Changes the source of a module before it is bundled. The dialect of a plugin is known only after its code has run, so this is called for plugins of all
   * dialects. It returns what it does not know as it is.
   */
  transform?(source: string, language: SourceLanguage): Promise<Transformed>;
  /** Its plugins are servers that agents name under `mcp`. There is nothing to load, and their tools may change at any time. */
  isServer?: true;
  /** Parameters like `user_id` are not ids of this host: the model gives them, and the host does not fill them in. */
  hasOwnIdentity?: true;
  /** Code in the sandbox calls its tools by their bare names, so no agent can have two plugins with such a tool of the same name. */
  hasBareNames?: true;
  /** The names by which its authors know the functions of a plugin, for messages. */
  hookNames?: Record<'load' | 'unload' | 'updateConfig', string>;
  /** Files of plugins of the original system, which is written in Python. The message for such a plugin names `sdk`. */
  pythonFiles?: string[];
  /** What such a plugin has that is loaded as it is, in words. */
  original?: string;
  /** What `longshore plugins new` writes. */
  scaffold: Scaffold;
}

export type SourceLanguage = 'ts' | 'tsx' | 'js' | 'jsx';

/** The changed source, or why the plugin is not loaded: a clause that follows the name of the file, and what to do. */
export type Transformed = { source: string } | { problem: string; fix: string };

export interface SdkModule {
  /** The names by which plugins import it. Messages show the first one. */
  imports: [shown: string, ...others: string[]];
  /** Its source, as bundles have it. The built package has a .js file in the same place. */
  file: URL;
}

export interface PluginLoader {
  /** The file by which the directory of a plugin is known to be of this dialect; undefined if it is not. */
  locate(root: string): Promise<string | undefined>;
  /** @throws PLUGIN_INVALID naming the plugin, the problem and the fix. */
  load(plugin: LocatedPlugin): Promise<Plugin>;
  /** The packages that it installs for a plugin. Absent: a plugin has those that its package.json names. @throws PLUGIN_INVALID */
  requirements?(name: string, root: string): Promise<string[]>;
}

/** A plugin that is to be loaded. */
export interface LocatedPlugin {
  /** The name that the agent uses, for messages. */
  name: string;
  /** Its directory. */
  root: string;
  /** The operator lets it use the worker's own process. */
  isTrusted: boolean;
  /** Bundles code of the plugin and loads it in an isolated process. Absent where no such processes exist. */
  isolate?(this: void, code: PluginCode): Promise<Plugin>;
  /** Sandboxes for plugins that need their own. Opened when the first such plugin is loaded; absent where there are none. */
  sandboxes?: OpenPluginSandboxes | undefined;
}

export type OpenPluginSandboxes = (this: void) => Promise<PluginSandboxes>;

/** What a plugin with sandboxes of its own is given. */
export interface PluginSandboxes {
  sandboxes: Pick<Sandboxes, 'open' | 'destroy' | 'setEgress' | 'isDraining'>;
  rows: Pick<Store['sandboxes'], 'get' | 'list' | 'prolong' | 'remove'>;
  timers: Pick<Store['pluginTimers'], 'set' | 'waiting' | 'clear'>;
  hostId: string;
  /** The image of the sandboxes. */
  image: string;
  /** For what is made once and kept. */
  directory: string;
  /** Milliseconds without a call after which such a sandbox is stopped; 0: never. */
  idleMs: number;
  log: Logger;
}

export interface PluginCode extends CodeOptions {
  entry: string;
  /** A module to begin with instead of the entry; it imports files of the plugin by absolute paths. */
  wrapper?: string;
}

/** How code becomes a plugin. */
export interface CodeOptions {
  /** What the code may do while it is loaded. */
  permissions?: Permissions;
  /** Used for a plugin of another dialect than Longshore's own that does not set these fields itself. */
  defaults?: Partial<PluginDefinition>;
  /** Fields of a tool that override the code's own; called whenever the code describes its tools. */
  settle?(this: void, described: JsonObject): Partial<Tool>;
}

export interface Scaffold {
  /** Text of each file of a new plugin, by its path in the directory. One of them is its test, `*.test.*`. */
  files(id: string): Record<string, string>;
  /** The lines that say how to test and use it. Default: those for a plugin that agents name by its directory. */
  nextSteps?(made: NewPlugin): string[];
}

/** A plugin that was just written. */
export interface NewPlugin {
  id: string;
  directory: string;
  /** File of its test. */
  test: string;
  /** The directory, as the files of agents name it. */
  fromAgents: string;
}
