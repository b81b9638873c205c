import { readFile } from 'node:fs/promises';
import { loadConfig } from '../../src/platform/config.ts';

const readText = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

/** The names of the settings, as the configuration's source declares them: optional ones are not in a parsed configuration. */
async function settings(): Promise<string[]> {
  return [...(await readText('src/platform/config.ts')).matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map(([, name = '']) => name);
}

test('the page of settings explains exactly the variables that are read, in their order', async () => {
  const rows = [...(await readText('docs/settings.md')).matchAll(/^\| `([A-Z_]+)` +\|/gm)].map(([, name = '']) => name);
  expect(rows).toEqual(await settings());
});

test('the defaults of the page of settings are the real ones', async () => {
  const defaults: Record<string, unknown> = loadConfig({});
  const rows = [...(await readText('docs/settings.md')).matchAll(/^\| `([A-Z_]+)` +\|[^|]+\| `([^`]+)` +\|$/gm)];
  for (const [, name = '', told = ''] of rows) {
    const real = String(defaults[name]).replace(process.env['HOME'] ?? '~', '~');
    expect(`${name} ${told}`).toBe(`${name} ${real}`);
  }
  expect(rows.length).toBeGreaterThan(5);
});
