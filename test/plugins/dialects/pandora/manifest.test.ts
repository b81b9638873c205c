import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../../../src/contracts/json.ts';
import { readManifest } from '../../../../src/plugins/dialects/pandora/manifest.ts';
import { problemOf } from '../../isolates/support.ts';
import { loadFixture } from '../support.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-pandora-'));
});
afterAll(() => rm(directory, { recursive: true }));

const good = { manifestVersion: 1, id: 'weather', name: 'Weather', pandora: '>=0.1.0', provides: { tools: { entry: 'index.ts' } } };

async function read(manifest: JsonObject): Promise<string> {
  await writeFile(join(directory, 'pandora.manifest.json'), JSON.stringify(manifest));
  return problemOf(readManifest('./w', directory));
}

test('the sandbox is compartment and nothing is permitted, unless the manifest says otherwise; one entry is a list of one', async () => {
  await writeFile(join(directory, 'pandora.manifest.json'), JSON.stringify({ ...good, envVars: [{ name: 'KEY' }] }));
  expect(await readManifest('./w', directory)).toMatchObject({
    provides: { tools: [{ entry: 'index.ts', sandbox: 'compartment', permissions: {} }] },
    envVars: [{ name: 'KEY', required: true }],
    configFields: [],
  });
});

test('a manifest is strict: each field that is wrong or unknown is named', async () => {
  expect(await read({ ...good, id: 'a:b', colour: 'red' })).toBe(
    'Plugin "./w": pandora.manifest.json: /id: has to be without a colon; /colour: not known. See docs/guides/plugins.md for the fields of a manifest',
  );
  expect(await read({ ...good, manifestVersion: 2 })).toContain('/manifestVersion: ');
  expect(await read({ ...good, provides: { tools: { entry: '../out.ts' } } })).toContain('/provides/tools/entry: has to be a path within the plugin');
  expect(await read({ ...good, provides: { tools: [{ entry: 'a.ts', permissions: { net: [] } }] } })).toContain('/provides/tools/0/permissions/net: not known');
  expect(await read({ ...good, provides: { tools: [{ entry: 'a.ts', permissions: { network: ['*.example'] } }] } })).toContain('has to be an exact host name');
  const enumField = { key: 'kind', label: 'Kind', type: 'enum' };
  expect(await read({ ...good, configFields: [enumField] })).toContain('/configFields/0/options: an enum needs options');
  expect(await read({ ...good, configFields: [{ ...enumField, type: 'date' }] })).toContain('/configFields/0/type: ');
});

test('the range of Pandora versions is enforced', async () => {
  expect(await read({ ...good, pandora: '^1.0.0' })).toContain('no error');
  expect(await read({ ...good, pandora: '1.0.0' })).toContain('/pandora: has to start with one of > < = ~ ^');
  expect(await read({ ...good, pandora: '>=banana' })).toContain('/pandora: has to be a range of versions');
  expect(await read({ ...good, pandora: '>=9.0.0' })).toBe(
    'Plugin "./w": it needs Pandora >=9.0.0, and 1.0.0 is what is spoken here. Use a version of the plugin that takes it',
  );
});

test('what is no JSON, and an entry that is not there, are problems of this plugin', async () => {
  await writeFile(join(directory, 'pandora.manifest.json'), '{');
  expect(await problemOf(loadFixture('', undefined, { directory }))).toMatch(/pandora\.manifest\.json is not JSON/);
  await writeFile(join(directory, 'pandora.manifest.json'), JSON.stringify(good));
  expect(await problemOf(loadFixture('', undefined, { directory }))).toBe('Plugin "./": its entry index.ts is not there. Mend provides.tools of the manifest');
});
