import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../../../src/contracts/json.ts';
import { readManifest } from '../../../../src/plugins/dialects/pandora/manifest.ts';
import { problemOf } from '../../isolates/support.ts';
import { loadFixture } from '../support.ts';
import { PLAIN } from './support.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-pandora-'));
});
afterAll(() => rm(directory, { recursive: true }));

const good = PLAIN;

async function read(manifest: JsonObject): Promise<string> {
  await writeFile(join(directory, 'pandora.manifest.json'), JSON.stringify(manifest));
  return problemOf(readManifest('./w', directory));
}

test('every field of a manifest is taken', async () => {
  const entry = { entry: './index.ts', sandbox: 'host', permissions: { time: true, network: ['a.example:8443'], env: ['KEY'], fs: ['/srv'], random: false } };
  const all = {
    $schema: 'https://schemas.example/manifest.json',
    manifestVersion: 1,
    id: '@scope/all',
    name: 'All',
    description: 'd',
    author: 'A',
    icon: 'sun',
    version: '1.0.0',
    homepage: 'https://a.example',
    repository: 'https://a.example/git',
    license: 'MIT',
    pandora: '^1.0.0',
    provides: {
      tools: [{ ...entry, requireApproval: true }, { entry: 'more/b.ts' }],
      channels: { entry: 'channel.ts' },
      agents: { entry: 'agents.ts', useTools: ['x'], modelTools: true },
    },
    envVars: [{ name: 'KEY', required: false }, { name: 'OTHER' }],
    configFields: [
      { key: 'a', label: 'A', type: 'text', required: true, placeholder: 'p', description: 'd' },
      ...['number', 'password'].map((type) => ({ key: type, label: 'B', type })),
      { key: 'kind', label: 'Kind', type: 'enum', options: [{ value: 'x', label: 'X' }] },
    ],
  };
  expect(await read(all)).toContain('no error');
  const agents = [{ entry: 'a.ts', useTools: ['x'], modelTools: ['search'] }, { entry: 'b.ts' }];
  for (const each of [agents, { entry: 'a.ts' }]) expect(await read({ ...all, provides: { agents: each, channels: [], tools: [] } })).toContain('no error');
  expect(await read({ ...all, author: { name: 'A', email: 'a@a.example', url: 'https://a.example' } })).toContain('no error');
});

test('entry is a path within the plugin; sandbox is compartment and nothing is permitted, unless the manifest says otherwise', async () => {
  await writeFile(join(directory, 'pandora.manifest.json'), JSON.stringify({ ...good, envVars: [{ name: 'KEY' }] }));
  expect(await readManifest('./w', directory)).toMatchObject({
    provides: { tools: [{ entry: 'index.ts', sandbox: 'compartment', permissions: {} }] },
    envVars: [{ name: 'KEY', required: true }],
    configFields: [],
  });
});

test('does not take a manifest with a field that is wrong or unknown: each is named', async () => {
  expect(await read({ ...good, id: 'a:b', colour: 'red' })).toBe(
    'Plugin "./w": pandora.manifest.json: /id: is not usable; use a letter, then letters, digits, -, _ and ., 40 at most; @scope/ may stand before it; ' +
      '/colour: not known. See docs/guides/plugins.md for the fields of a manifest',
  );
  for (const id of ['weather', 'My_Weather', 'weather.v2', '@My-Scope/weather_2']) expect(await read({ ...good, id })).toContain('no error');
  expect(await read({ ...good, manifestVersion: 2 })).toContain('/manifestVersion: ');
  expect(await read({ ...good, provides: { tools: { entry: '../out.ts' } } })).toContain('/provides/tools/entry: has to be a path within the plugin');
  expect(await read({ ...good, provides: { tools: [{ entry: 'a.ts', permissions: { net: [] } }] } })).toContain('/provides/tools/0/permissions/net: not known');
  expect(await read({ ...good, provides: { tools: [{ entry: 'a.ts', permissions: { network: ['*.example'] } }] } })).toContain('has to be an exact host name');
  const field = { key: 'a', label: 'A', type: 'text' };
  expect(await read({ ...good, configFields: [field, field] })).toContain('/configFields/1/key: "a" occurs twice');
  expect(await read({ ...good, configFields: [{ ...field, key: 'requireApproval' }] })).toContain('/key: none may be called enabled or requireApproval');
  const enumField = { key: 'kind', label: 'Kind', type: 'enum' };
  expect(await read({ ...good, configFields: [enumField] })).toContain('/configFields/0/options: an enum needs options');
  expect(await read({ ...good, configFields: [{ ...enumField, type: 'date' }] })).toContain('/configFields/0/type: ');
});

test('does not load a plugin for other versions of Pandora', async () => {
  for (const pandora of ['>=0.0.1', '^0.1.0', '~1.2.0', '<0.1.0', '=1.0.0']) expect(await read({ ...good, pandora })).toContain('no error');
  expect(await read({ ...good, pandora: '1.0.0' })).toContain('/pandora: has to start with one of > < = ~ ^');
  expect(await read({ ...good, pandora: '>=banana' })).toContain('/pandora: has to be a range of versions');
  expect(await read({ ...good, pandora: '>1.0.0 '.repeat(100_000) })).toContain('/pandora: has to be a range of versions, of at most 256 characters');
  expect(await read({ ...good, pandora: '>=9.0.0' })).toBe(
    'Plugin "./w": it needs Pandora >=9.0.0, but this host supports >=0.0.1 <2.0.0. Use a version of the plugin that works with it',
  );
});

test('a file that is not JSON and a missing entry are problems of this plugin', async () => {
  await writeFile(join(directory, 'pandora.manifest.json'), '{');
  expect(await problemOf(loadFixture('', undefined, { directory }))).toMatch(/pandora\.manifest\.json cannot be read as JSON/);
  await writeFile(join(directory, 'pandora.manifest.json'), JSON.stringify(good));
  expect(await problemOf(loadFixture('', undefined, { directory }))).toBe(
    'Plugin "./": its entry index.ts does not exist. Correct provides.tools of the manifest',
  );
});
