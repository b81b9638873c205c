import { resolve } from 'node:path';
import { nameOfOrigin, readOrigin, type PluginOrigin } from '../../../src/plugins/add/read-origin.ts';

test.each<[string, PluginOrigin, string]>([
  ['words', { kind: 'package', name: 'words' }, 'words'],
  ['words@1.2.3', { kind: 'package', name: 'words', wanted: '1.2.3' }, 'words'],
  ['@acme/words@next', { kind: 'package', name: '@acme/words', wanted: 'next' }, 'words'],
  ['./words', { kind: 'directory', path: resolve('words') }, 'words'],
  ['src', { kind: 'directory', path: resolve('src') }, 'src'],
  ['/srv/My plugin', { kind: 'directory', path: '/srv/My plugin' }, 'My-plugin'],
  ['https://git.example/acme/words.git', { kind: 'repository', url: 'https://git.example/acme/words.git' }, 'words'],
  ['https://git.example/words#v1.2.3', { kind: 'repository', url: 'https://git.example/words', ref: 'v1.2.3' }, 'words'],
  ['https://git.example/words#@acme/words@1.2.3', { kind: 'repository', url: 'https://git.example/words', ref: '@acme/words@1.2.3' }, 'words'],
  ['https://git.example/words#v1.2.3+build.5', { kind: 'repository', url: 'https://git.example/words', ref: 'v1.2.3+build.5' }, 'words'],
  ['https://git.example/words#fix/#12-größe', { kind: 'repository', url: 'https://git.example/words', ref: 'fix/#12-größe' }, 'words'],
  ['file:///srv/node_modules#feature/x', { kind: 'repository', url: 'file:///srv/node_modules', ref: 'feature/x' }, 'plugin'],
])('%s', async (text, origin, name) => {
  const read = await readOrigin(text, process.cwd());
  expect([read, nameOfOrigin(read)]).toEqual([origin, name]);
});

const FIX = 'Give a directory (./words), a package of npm (words, words@1.2.3) or an address of git (https:// or file:///, with #branch, #tag or #commit)';

test.each([
  ['ext::sh -c evil', 'is an address of a kind that is not taken'],
  ['ssh://git@host/words', 'is an address of a kind that is not taken'],
  ['http://git.example/words', 'is an address of a kind that is not taken'],
  ['file://host/words', 'is an address of a kind that is not taken'],
  ['git@host:words', 'is neither a directory nor the name of a package'],
  ['--upload-pack=evil', 'is neither a directory nor the name of a package'],
  ['words@^1.0.0', 'is neither a directory nor the name of a package'],
  ['words@npm:evil', 'is neither a directory nor the name of a package'],
  ['Words', 'is neither a directory nor the name of a package'],
  ['', 'is neither a directory nor the name of a package'],
  ['https://git.example/words#', 'has no branch, tag or commit behind its #'],
  ['https://git.example/words#--output=x', 'has no branch, tag or commit behind its #'],
  ['https://git.example/words#a:b', 'has no branch, tag or commit behind its #'],
  ['https://git.example/words#+a', 'has no branch, tag or commit behind its #'],
  ['https://git.example/words#^a', 'has no branch, tag or commit behind its #'],
  ['https://git.example/words#a@{1}', 'has no branch, tag or commit behind its #'],
  ['https://git.example/words#a*', 'has no branch, tag or commit behind its #'],
  ['https://git.example/words#a b', 'has no branch, tag or commit behind its #'],
  ['https://git.example/words#a\tb', 'has no branch, tag or commit behind its #'],
  ['https://git.example/words#a..b', 'has no branch, tag or commit behind its #'],
])('"%s" is refused', async (text, problem) => {
  await expect(readOrigin(text, process.cwd())).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: `source: ${JSON.stringify(text)} ${problem}. ${FIX}`,
  });
});

test('a password in an address is refused, and not repeated', async () => {
  await expect(readOrigin('https://me:secret@git.example/words', process.cwd())).rejects.toMatchObject({
    message: `source: "https://…@git.example/words" has a user or a password, which git should ask its credential helper for. ${FIX}`,
  });
});
