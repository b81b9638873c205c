import { readdir } from 'node:fs/promises';
import { readPluginFile } from '../../../files/read-plugin-file.ts';

/** Files that are read. */
const MOST_FILES = 200;

/** The files of its own code, those at the top first. */
export async function* sourcesAt(root: string): AsyncGenerator<string> {
  const names = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.py') && !/(^|\/)(tests?|docs|node_modules|\.\w+)\//.test(name));
  for (const name of names.toSorted((a, b) => a.split('/').length - b.split('/').length).slice(0, MOST_FILES)) {
    yield await readPluginFile(root, name).catch(() => '');
  }
}

/** Of these packages, by the modules that they offer, those that the code of a plugin imports, each once. */
export async function importedOf(root: string, packages: Record<string, string>): Promise<string[]> {
  const imported = new Set<string>();
  for await (const source of sourcesAt(root)) for (const module of modulesIn(source)) imported.add(module);
  return [...new Set(Object.entries(packages).flatMap(([module, requirement]) => (imported.has(module) ? [requirement] : [])))];
}

/** The first parts of the names that `import a.b, c` and `from a.b import c` have. */
function* modulesIn(source: string): Generator<string> {
  for (const [, from, list = ''] of source.matchAll(/^[ \t]*(?:from[ \t]+(\w+)|import[ \t]+([^\n#;]+))/gm)) {
    if (from !== undefined) yield from;
    for (const name of list.split(',')) yield /\w+/.exec(name)?.[0] ?? '';
  }
}
