import { join } from 'node:path';
import { parseDuration } from '../../common/duration.ts';
import type { Config } from '../../platform/config.ts';
import type { PluginSandboxes } from '../dialects/shared/plugin-dialect.ts';

type Settings = Pick<Config, 'LONGSHORE_HOME' | 'LONGSHORE_HOST_ID' | 'LONGSHORE_PLUGIN_IDLE' | 'LONGSHORE_SANDBOX_IMAGE'>;

/** What plugins with sandboxes of their own are given, from a configuration. */
export function pluginSandboxesOf(
  { LONGSHORE_HOME: home, LONGSHORE_HOST_ID: hostId, LONGSHORE_PLUGIN_IDLE: idle, LONGSHORE_SANDBOX_IMAGE: image }: Settings,
  {
    sandboxes,
    store,
    log,
  }: Pick<PluginSandboxes, 'sandboxes' | 'log'> & {
    store: { sandboxes: PluginSandboxes['rows']; pluginTimers: PluginSandboxes['timers'] };
  },
): PluginSandboxes {
  const idleMs = idle === '0' ? 0 : parseDuration(idle);
  return { sandboxes, rows: store.sandboxes, timers: store.pluginTimers, hostId, image, directory: join(home, 'python'), idleMs, log };
}
