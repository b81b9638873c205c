import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundlePlugin } from '../../../src/plugins/isolates/bundle-plugin.ts';

test('a plugin that ends the bundler by its nesting is refused, and the others are bundled meanwhile and after it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-bundler-'));
  const bundle = async (name: string, source: string): Promise<string> => {
    await mkdir(join(directory, name), { recursive: true });
    await writeFile(join(directory, name, 'index.js'), source);
    return bundlePlugin(`./${name}`, { root: join(directory, name), entry: join(directory, name, 'index.js') }).then(
      ({ code }) => (code.length > 20 ? 'bundled' : code),
      ({ message }: Error) => message,
    );
  };
  const deep = `export default ${'['.repeat(400_000)}${']'.repeat(400_000)};`;
  const good = (name: string) => bundle(name, `export default { id: '${name}', text: 'a text of some length' };`);
  const refused = /^Plugin "\.\/deep-\d": .*: the bundler ended while it read it, which it does when code is nested too deeply/;
  const all = await Promise.all([good('one'), bundle('deep-1', deep), good('two'), bundle('deep-2', deep), good('three')]);
  expect(all).toEqual(['bundled', expect.stringMatching(refused), 'bundled', expect.stringMatching(refused), 'bundled']);
  expect(await good('four')).toBe('bundled');
  await rm(directory, { recursive: true });
}, 300_000);
