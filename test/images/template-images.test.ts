import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeLeftovers } from '../../src/images/remove-leftovers.ts';
import { removeTemplate } from '../../src/images/remove-template.ts';
import { templateImages } from '../../src/images/template-images.ts';
import { mustRun, runCommand } from '../../src/platform/run-command.ts';
import { testInstallation } from '../support/databases.ts';

const docker = (...args: string[]) => mustRun('Docker', 'docker', args, { fix: '' });

test("a name that a person gave to a template's image is left alone, and Longshore's own is removed", async () => {
  const template = testInstallation();
  // The engine lists the names of an image by the alphabet.
  const [own, persons] = [`longshore-template:${template}-0123456789abcdef`, `a-mirror/${template}:1`];
  const directory = await mkdtemp(join(tmpdir(), 'longshore-images-'));
  try {
    await writeFile(join(directory, 'Dockerfile'), `FROM scratch\nLABEL longshore.image=template longshore.template=${template}\nCOPY Dockerfile /\n`);
    await docker('build', '-t', own, directory);
    await docker('tag', own, persons);
    expect(await templateImages(template)).toEqual([{ image: own, template, size: expect.any(Number) }]);
    expect(await removeTemplate(template, { force: false })).toEqual([own]);
    expect(await templateImages(template)).toEqual([]);
    expect((await runCommand('docker', ['image', 'inspect', persons])).code).toBe(0);
  } finally {
    await runCommand('docker', ['image', 'rm', own, persons]);
    await rm(directory, { recursive: true });
  }
});

test('what a killed build has left is removed a day later, and nothing that has a similar name', async () => {
  const template = testInstallation();
  const hash = '0123456789abcdef';
  const left = [`longshore-template:${template}-${hash}-base`, `longshore-template:${template}-${hash}-own`];
  const others = [
    `longshore-template:${template}-${hash}`,
    `longshore-template:${template}-${hash}-mine`,
    `longshore-template:${template}-other-${hash}-own`,
    `a-mirror/${template}-${hash}-own:1`,
  ];
  const directory = await mkdtemp(join(tmpdir(), 'longshore-images-'));
  const there = async () => {
    const names = [...left, ...others];
    const found = await Promise.all(names.map(async (name) => (await runCommand('docker', ['image', 'inspect', name])).code === 0));
    return names.filter((_name, index) => found[index]);
  };
  try {
    await writeFile(join(directory, 'Dockerfile'), 'FROM scratch\nCOPY Dockerfile /\n');
    await docker('build', '-t', left[0]!, directory);
    for (const name of [left[1]!, ...others]) await docker('tag', left[0]!, name);
    await removeLeftovers(template);
    expect(await there()).toEqual([...left, ...others]);
    await removeLeftovers(template, { olderThanMs: -60_000 });
    expect(await there()).toEqual(others);
  } finally {
    await runCommand('docker', ['image', 'rm', ...left, ...others]);
    await rm(directory, { recursive: true });
  }
});
