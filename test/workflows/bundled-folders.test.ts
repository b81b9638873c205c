import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bundledModules } from '../../src/worker/workflow-bundle.ts';

const SRC = resolve('src');

/** The modules that a module takes into the workflow bundle: types take none. */
function reached(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, clause = '', path = ''] of text.matchAll(/^(?:import|export)\s+([^;]*?)\s*from '(\.[^']+)'/gms)) {
    if (!clause.startsWith('type ')) reached(join(dirname(file), path), known);
  }
  return known;
}

test('a kept bundle is named after the sources of all modules that are in it', async () => {
  const modules = [...reached(join(SRC, 'workflows/workflows.ts'))];
  expect(modules.length).toBeGreaterThan(30);
  expect(await bundledModules()).toEqual(expect.arrayContaining(modules));
});
