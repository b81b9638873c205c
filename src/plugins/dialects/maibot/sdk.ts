import type { JsonObject } from '../../../contracts/json.ts';
import { AS_PLUGIN } from '../../api/plugin-of-exports.ts';
import type { Variable } from '../../api/plugin.ts';
import type { MaiBotContext } from './maibot-context.ts';
import { toPlugin } from './to-plugin.ts';

export { action, tool, workflowStep, type ActionOptions, type ToolMetadata, type ToolOptions } from './declarations.ts';
export { ToolParameterInfo, ToolParamType, type ToolParameterFields, type ToolParameters } from './parameters.ts';
export type { MaiBotContext } from './maibot-context.ts';

/**
 * A plugin in the style of MaiBot: its methods are its tools. Its module exports `createPlugin()`, which makes one. A new one is made for each
 * conversation, so state that must last belongs in `ctx.store`.
 */
export abstract class MaiBotPlugin {
  /** Available from `onLoad` on. */
  ctx!: MaiBotContext;

  /** A plugin id. Default: the name of its package or directory. */
  id?: string;
  version?: string;
  description?: string;
  /** One line that represents all its tools where they are deferred. */
  brief?: string;
  /** Ids of plugins that must be loaded before it. */
  dependencies?: string[];
  /** Whether its tools ask for approval. Each tool may override it. */
  requireApproval?: boolean;
  /** Variables that its tools receive in `ctx.env`. */
  environment?: Variable[];
  /** JSON Schema of its configuration, an object. */
  configSchema?: JsonObject;

  abstract onLoad(): Promise<void> | void;
  abstract onUnload(): Promise<void> | void;
  /** `self` is its own configuration, which `ctx.config` has at that time already. When this throws, the change is reverted. */
  abstract onConfigUpdate(scope: 'self' | 'bot' | 'model', data: JsonObject, version: string): Promise<void> | void;

  [AS_PLUGIN](): object {
    return toPlugin(this);
  }
}
