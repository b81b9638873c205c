import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { locateOriginal, requirementsAt } from '../../../../src/plugins/dialects/nekro/original/load-original.ts';

const MAKES = 'from nekro_agent.api.plugin import NekroPlugin\nplugin = NekroPlugin()\n';
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'longshore-nekro-'));
});
afterEach(() => rm(root, { recursive: true }));
const write = (file: string, text: string) => writeFile(join(root, file), text);

test('a directory with __init__.py or plugin.py whose code makes a NekroPlugin is one', async () => {
  expect(await locateOriginal(root)).toBeUndefined();
  await write('plugin.py', MAKES);
  expect(await locateOriginal(root)).toBe(join(root, 'plugin.py'));
  await write('__init__.py', '');
  expect(await locateOriginal(root)).toBe(join(root, '__init__.py'));
  await write('plugin.py', 'print(1)');
  expect(await locateOriginal(root)).toBeUndefined();
});

test('tests of a package do not make it a plugin', async () => {
  await write('__init__.py', '');
  await mkdir(join(root, 'tests'));
  await write('tests/test_it.py', MAKES);
  expect(await locateOriginal(root)).toBeUndefined();
});

test('it gets what it imports of what Nekro Agent brings, and in its own versions what it lists', async () => {
  await write('__init__.py', `import numpy as np, httpx\n  from PIL import Image\n${MAKES}`);
  expect(await requirementsAt('p', root)).toEqual(['httpx[socks]>=0.27,<0.28', 'numpy', 'pillow', 'pydantic>=2']);
  await write('requirements.txt', 'HTTPX>=0.28\nnumpy==2.0.0\nyt-dlp\n');
  const after = await requirementsAt('p', root);
  expect(after.filter((line) => /httpx|numpy|yt/i.test(line))).toEqual(['HTTPX>=0.28', 'numpy==2.0.0', 'yt-dlp']);
  await write('requirements.txt', '-e .');
  await expect(requirementsAt('p', root)).rejects.toThrow('Plugin "p": its requirement "-e ." is not supported');
});
