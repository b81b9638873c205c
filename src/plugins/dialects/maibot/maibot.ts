import type { JsonObject } from '../../../contracts/json.ts';
import { AS_PLUGIN } from '../../api/plugin-of-exports.ts';
import type { Variable } from '../../api/plugin-details.ts';
import type { MaiBotContext } from './context.ts';
import { toPlugin } from './to-plugin.ts';

export { action, tool, workflowStep, type ActionOptions, type ToolMetadata, type ToolOptions } from './declarations.ts';
export { ToolParameterInfo, ToolParamType, type ToolParameterFields, type ToolParameters } from './parameters.ts';
export type { MaiBotContext } from './context.ts';

/**
 * A plugin whose methods are its tools, in the style of MaiBot; the module that has it exports `createPlugin()`, which makes one. It is made anew for each
 * conversation, so what has to last belongs into `ctx.store`.
 */
export abstract class MaiBotPlugin {
  /** There from `onLoad` on. */
  ctx!: MaiBotContext;

  /** As plugin ids are; the name of its package or directory where it is left out. */
  id?: string;
  version?: string;
  description?: string;
  /** One line that stands for all its tools where they are deferred. */
  brief?: string;
  /** Ids of plugins that have to be loaded before it. */
  dependencies?: string[];
  /** Whether its tools ask for approval, where they do not say it themselves. */
  requireApproval?: boolean;
  /** Variables that its tools are given in `ctx.env`. */
  environment?: Variable[];
  /** JSON Schema of its configuration, an object. */
  configSchema?: JsonObject;

  abstract onLoad(): Promise<void> | void;
  abstract onUnload(): Promise<void> | void;
  /** `self` is its own configuration, which `ctx.config` is by then. What it throws takes the change back. */
  abstract onConfigUpdate(scope: 'self' | 'bot' | 'model', data: JsonObject, version: string): Promise<void> | void;

  [AS_PLUGIN](): object {
    return toPlugin(this);
  }
}
