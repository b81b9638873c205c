import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const ENTRY = new URL('../../src/cli/main.ts', import.meta.url);
/** Imports and re-exports of values; those of types load nothing, and `import()` loads later. */
const STATIC = /^(?:import|export) (?!type )(?:[^;']* from )?'([^']+)';/gm;

/** The packages that are loaded with a module, with one of the modules that import each. */
async function packagesOf(entry: URL): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const seen = new Set<string>();
  const left = [entry];
  for (let module = left.pop(); module; module = left.pop()) {
    if (seen.has(module.href)) continue;
    seen.add(module.href);
    const text = await readFile(module, 'utf8');
    for (const [, name = ''] of text.matchAll(STATIC)) {
      if (name.startsWith('.')) left.push(new URL(name, module));
      else if (!name.startsWith('node:')) found.set(name, fileURLToPath(module));
    }
  }
  return found;
}

test('the command line starts with its own modules and three packages: what a command works with is loaded by that command', async () => {
  const packages = await packagesOf(ENTRY);
  const expected = ['commander', 'pino', 'zod'];
  expect([...packages].filter(([name]) => !expected.includes(name))).toEqual([]);
  expect([...packages.keys()].toSorted()).toEqual(expected);
});
