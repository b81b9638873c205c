import { parseForeign } from '../../contracts/foreign-json.ts';
import { isObject } from '../../contracts/json.ts';
import { readPluginFile } from '../files/read-plugin-file.ts';
import { locatePlugin } from './locate-plugin.ts';

/** The packages that a plugin needs, as its dialect or its package.json names them. */
export async function requirementsOf(name: string, directory: string): Promise<string[]> {
  const { root, loader } = await locatePlugin(name, directory);
  if (loader?.requirements) return loader.requirements(name, root);
  const text = await readPluginFile(root, 'package.json').catch(() => '{}');
  const file = parseForeign(text);
  const wanted = isObject(file) ? file['dependencies'] : undefined;
  if (!isObject(wanted)) return [];
  return Object.entries(wanted).flatMap(([packageName, range]) => (typeof range === 'string' ? [`${packageName}@${range}`] : []));
}
