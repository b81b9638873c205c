import type { JsonObject } from '../../contracts/json.ts';
import type { ToolContext } from './tool-context.ts';

/** What a worker provides to plugins. */
export interface PluginServices {
  /** Value of an environment variable of the worker. */
  environment(name: string): string | undefined;
  /** Validated configuration of a plugin. */
  configOf(pluginId: string): JsonObject;
  /** A fetch that reaches only these exact hosts. The addresses of names and all redirects are checked too. */
  fetchFor(hosts: string[]): ToolContext['fetch'];
  /** Directory whose files tools may copy into sandboxes. If it is absent, tools may copy no files of the host. */
  filesDirectory?: string;
}
