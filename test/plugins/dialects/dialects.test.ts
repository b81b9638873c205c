import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { DIALECTS } from '../../../src/plugins/dialects/dialects.ts';

const FOLDER = 'src/plugins/dialects';
/** Parts of the sources whose modules may be bundled into a plugin. */
const FOR_PLUGINS = /^src\/(?:common|contracts|plugins\/api)\//;

/** Files outside of the dialects that name one, and why. */
const NAMING: Record<string, string> = {
  'plugins/api/plugin-of-exports.ts': 'runs in the processes of plugins, which have no list; its message names the class that createPlugin() should make',
};
/** Files that compare the dialect of a plugin with a name, and why. */
const COMPARING: Record<string, string> = {
  'client/grant-calls.ts': 'reads a value that workers have stored',
};

async function sourcesThat(matches: (text: string) => boolean): Promise<string[]> {
  const files = (await readdir('src', { recursive: true })).filter((file) => file.endsWith('.ts') && !join('src', file).startsWith(`${FOLDER}/`));
  const found = await Promise.all(files.map(async (file) => (matches(await readFile(join('src', file), 'utf8')) ? [file] : [])));
  return found.flat().toSorted();
}

test('each folder is one dialect of the list, which has its name', async () => {
  const folders = (await readdir(FOLDER, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(DIALECTS.map(({ name }) => name).toSorted()).toEqual(folders.filter((name) => name !== 'shared').toSorted());
});

test('no other file names a dialect, or asks for one by its name', async () => {
  expect(await sourcesThat((text) => /maibot|nekro|pandora/i.test(text))).toEqual(Object.keys(NAMING));
  const comparison = new RegExp(`\\bdialect\\b.{0,9}[!=]==\\s*'(?:${DIALECTS.map(({ name }) => name).join('|')})'`, 'i');
  expect(await sourcesThat((text) => comparison.test(text))).toEqual(Object.keys(COMPARING));
});

/** What runs with the code of plugins besides the modules that they import. */
const ADAPTERS = ['src/plugins/dialects/pandora/adapt-tools.ts', 'src/plugins/dialects/pandora/offer-env.ts'];
const MODULES = [...DIALECTS.flatMap(({ sdk }) => (sdk ? [fileURLToPath(sdk.file)] : [])), ...ADAPTERS];

test.each(MODULES)('%s brings into plugins its own folder and what is made for plugins, and neither the host nor modules of Node', async (entry) => {
  // A neutral platform has no modules of Node.
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'neutral',
    external: ['zod'],
    logLevel: 'silent',
  });
  const inputs = Object.keys(metafile.inputs).filter((input) => !FOR_PLUGINS.test(input));
  const folder = inputs[0]?.split('/').slice(0, 4).join('/');
  expect(inputs.filter((input) => !input.startsWith(`${folder}/`))).toEqual([]);
  expect(inputs.filter((input) => /\/(?:dialect|dialects|scaffold|load-[\w-]+)\.ts$/.test(input))).toEqual([]);
});
