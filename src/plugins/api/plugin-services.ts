import type { JsonObject } from '../../contracts/json.ts';
import type { ToolContext } from './tool-context.ts';

/** What a worker lends to plugins. */
export interface PluginServices {
  /** Value of an environment variable of the worker. */
  environment(name: string): string | undefined;
  /** Validated configuration of a plugin. */
  configOf(pluginId: string): JsonObject;
  /** A fetch that reaches these exact hosts and no others, wherever names and redirects lead. */
  fetchFor(hosts: string[]): ToolContext['fetch'];
  /** Directory whose files tools may forward into sandboxes; without one, none. */
  filesDirectory?: string;
}
