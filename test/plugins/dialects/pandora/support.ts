import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '../../../../src/contracts/json.ts';
import type { Plugin } from '../../../../src/plugins/api/define-plugin.ts';
import type { Workbench } from '../../isolates/support.ts';
import { loadFixture } from '../support.ts';

/** A manifest with nothing that could be left out. */
export const PLAIN = { manifestVersion: 1, id: 'weather', name: 'Weather', pandora: '>=0.1.0', provides: { tools: { entry: 'index.ts' } } };

/** Writes a plugin whose manifest and files are given, and loads it. Files are told by their names. */
export async function loadPandoraFrom(bench: Workbench, name: string, files: Record<string, string>, more: JsonObject = {}): Promise<Plugin> {
  const root = join(bench.directory, name);
  await mkdir(root, { recursive: true });
  await writeFile(join(root, 'pandora.manifest.json'), JSON.stringify({ ...PLAIN, id: name, ...more }));
  for (const [file, text] of Object.entries(files)) await writeFile(join(root, file), text);
  return loadFixture(name, bench.isolates, { directory: bench.directory });
}

/** Source of an entry with tools, each given by the body of its execute; `more` are further keys of all of them. */
export function entryOf(tools: Record<string, string>, more = ''): string {
  const list = Object.entries(tools).map(
    ([id, body]) =>
      `{ id: '${id}', name: '${id}', description: 'd', annotations: { readOnlyHint: true }, ${more} execute: async (input: any, { env, logger }: any) => { ${body} } }`,
  );
  return `export const tools = [${list.join(',\n')}];\n`;
}

/** The provides.tools of a manifest with one entry that is permitted something. */
export function permitting(permissions: JsonObject): JsonObject {
  return { provides: { tools: { entry: 'index.ts', permissions } } };
}
