import type { Household } from './household.ts';
import { networkOf } from './permission-grants.ts';

/**
 * Tells a plugin with a network of its own what operators let it reach now. It takes effect even where the plugin cannot be loaded again.
 * @returns why it could not be told
 */
export async function applyNetwork(household: Household, pluginId: string): Promise<unknown> {
  let failure: unknown;
  for (const { source, instances } of household.sources) {
    const plugin = instances.find((instance) => instance.plugin.id === pluginId)?.plugin;
    await plugin?.setNetwork?.(networkOf(household, source, pluginId)).catch((error: unknown) => {
      household.options.log.error({ plugin: pluginId, err: error }, 'the hosts that a plugin may reach could not be changed');
      failure ??= error;
    });
  }
  return failure;
}
