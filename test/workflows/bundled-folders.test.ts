import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { BUNDLED } from '../../src/worker/workflow-bundle.ts';

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

test('a kept bundle is named after the sources of all folders that are in it', () => {
  const folders = [...reached(join(SRC, 'workflows/workflows.ts'))].map((file) => relative(SRC, file).split('/')[0] ?? '');
  expect(folders.length).toBeGreaterThan(20);
  expect([...new Set(folders)].toSorted()).toEqual(BUNDLED.toSorted());
});
