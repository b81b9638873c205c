import { parseForeign } from '../../contracts/foreign-json.ts';
import { isObject, type Json } from '../../contracts/json.ts';
import { readPluginFile } from '../files/read-plugin-file.ts';
import { locatePlugin } from './locate-plugin.ts';

/** The packages that a plugin needs, as its dialect or its package.json names them. */
export async function requirementsOf(name: string, directory: string): Promise<string[]> {
  const { root, loader } = await locatePlugin(name, directory);
  if (loader?.requirements) return loader.requirements(name, root);
  const file = await readPluginFile(root, 'package.json').then(
    (text) => parseForeign(text) as Json,
    () => ({}),
  );
  const wanted = isObject(file) ? file['dependencies'] : undefined;
  return isObject(wanted) ? Object.entries(wanted).map(([packageName, range]) => `${packageName}@${String(range)}`) : [];
}
