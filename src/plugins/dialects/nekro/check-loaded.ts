import { failure } from '../../../contracts/errors.ts';
import type { Plugin } from '../../api/define-plugin.ts';

/**
 * Code calls methods by their bare names, so two plugins of this dialect must not have the same one. Also sets the time of alerts, which the plugin wrote
 * without a clock.
 * @throws PLUGIN_COLLISION naming both.
 */
export function checkNekroPlugin(name: string, plugin: Plugin, others: Iterable<{ name: string; plugin: Plugin }>): void {
  if (plugin.dialect !== 'nekro') return;
  const at = new Date().toISOString();
  for (const alert of plugin.alerts) alert.at ||= at;
  const own = new Set(plugin.tools.map(({ id }) => id));
  for (const other of others) {
    const same = other.plugin.dialect === 'nekro' && other.plugin.tools.find(({ id }) => own.has(id));
    if (same) throw failure('PLUGIN_COLLISION', { id: same.id, first: other.name, second: name });
  }
}
