import type { PluginSettings } from '../../store/plugin-rows.ts';

/**
 * Applies what has changed in the settings since it was applied, each change also where another one fails. One that failed is a change again the next time.
 * @param applied by plugin; it is kept up to date
 * @throws the first failure, after all
 */
export async function applyChanges(
  applied: Map<string, PluginSettings>,
  settings: ReadonlyMap<string, PluginSettings>,
  apply: (before: PluginSettings | undefined, now: PluginSettings) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const now of settings.values()) {
    const before = applied.get(now.pluginId);
    if (!differs(before, now)) continue;
    try {
      await apply(before, now);
      applied.set(now.pluginId, now);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

function differs(before: PluginSettings | undefined, now: PluginSettings): boolean {
  const isOther = (before?.enabled ?? true) !== now.enabled || (before?.reloads ?? 0) !== now.reloads || (before?.configVersion ?? 0) !== now.configVersion;
  return isOther || grantsOf(before) !== grantsOf(now);
}

/** Text that is the same for the same grants: the store sorts them. */
export function grantsOf(settings: PluginSettings | undefined): string {
  return JSON.stringify(settings?.granted ?? {});
}
