import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readManifest } from '../../../../src/plugins/dialects/maibot/original/manifest.ts';

describe('the manifest of a plugin for MaiBot', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'longshore-manifest-'));
  });
  afterEach(() => rm(root, { recursive: true }));
  const write = (manifest: unknown) => writeFile(join(root, '_manifest.json'), typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
  const read = () => readManifest('./tides', root);

  test('names its packages, the SDK in the versions that it wants among them, and other plugins', async () => {
    await write({
      manifest_version: 2,
      id: 'harbour.tides',
      name: 'Tides',
      version: '1.3.0',
      sdk: { min_version: '2.0.0', max_version: '2.99.99' },
      dependencies: [
        { type: 'python_package', name: 'httpx', version_spec: '>=0.27' },
        { type: 'plugin', id: 'harbour.ships' },
      ],
    });
    await writeFile(join(root, 'requirements.txt'), '# for pictures\npillow>=9, <14  # or newer\n\nhttpx>=0.27\n');
    expect(await read()).toEqual({
      id: 'harbour.tides',
      version: '1.3.0',
      description: '',
      requirements: ['httpx>=0.27', 'maibot-plugin-sdk>=2.0.0,<=2.99.99', 'pillow>=9, <14'],
      plugins: ['harbour.ships'],
    });
  });

  test('packages that MaiBot brings are installed for a plugin that imports them, in the versions that it names', async () => {
    await write({ manifest_version: 2, name: 'Tides', version: '1' });
    await mkdir(join(root, 'core'));
    await writeFile(join(root, 'core', 'a.py'), 'import json\nfrom maim_message import Seg\n# import pandas\ndef ask():\n    import httpx, requests\n');
    await writeFile(join(root, 'requirements.txt'), 'httpx>=0.27\n');
    expect((await read()).requirements).toEqual(['httpx>=0.27', 'maibot-plugin-sdk', 'maim-message', 'requests']);
  });

  test('an id that cannot be that of a plugin here is shortened and stays distinct', async () => {
    const idOf = async (id: string) => {
      await write({ manifest_version: 1, id, name: 'Tides', version: '1' });
      return (await read()).id;
    };
    const first = await idOf('harbour.a-name-that-is-longer-than-forty-characters');
    expect(first).toMatch(/^harbour\.a-name-that-is-longer-t-[0-9a-f]{8}$/);
    expect(await idOf('harbour.a-name-that-is-longer-than-forty-letters')).not.toBe(first);
    expect(await idOf('潮汐')).toMatch(/^maibot-[0-9a-f]{8}$/);
  });

  test.each([
    ['{', /its _manifest\.json cannot be read as JSON/],
    [{ manifest_version: 3, name: 'Tides', version: '1' }, /its _manifest\.json is not usable \(\/manifest_version: Invalid input\)\. Correct that file/],
    [{ manifest_version: 2, name: 'Tides' }, /\/version: /],
    [
      { manifest_version: 2, name: 'Tides', version: '1', dependencies: [{ type: 'python_package', name: '--index-url=x' }] },
      /its requirement "--index-url=x"/,
    ],
  ])('%j is refused', async (manifest, message) => {
    await write(manifest);
    await expect(read()).rejects.toThrow(message);
  });

  test('a link out of the plugin is not read', async () => {
    await write({ manifest_version: 2, name: 'Tides', version: '1' });
    await symlink('/etc/hostname', join(root, 'requirements.txt'));
    await expect(read()).rejects.toThrow('its requirements.txt cannot be read: it is no file within the plugin that can be read');
  });
});
