import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, truncate } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { relative } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { mustRun } from '../../../../src/platform/run-command.ts';
import { useProject, words, type Project } from './support.ts';

let project: Project;
useProject((made) => (project = made));

const add = (source: string, ...args: string[]) => project.line(['plugins', 'add', source, '--yes', ...args]);
const tooMuch = (source: string) => `Plugin "${source}": it has more than 10000 files or 200 MB. Take out what it does not need\n`;

/** Serves one version of the package `words`. */
async function serve(archive: Buffer): Promise<Server> {
  const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
  const server = createServer(({ url, headers: { host = '' } }, response) => {
    const dist = { tarball: `http://${host}/words.tgz`, integrity };
    const about = { name: 'words', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': { name: 'words', version: '1.0.0', dist } } };
    response.end(url === '/words.tgz' ? archive : JSON.stringify(about));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  process.env['npm_config_registry'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return server;
}

async function archiveOf(count: number): Promise<Buffer> {
  const tar = pack();
  const whole = buffer(tar.pipe(createGzip({ level: 1 })));
  tar.entry({ name: 'package/package.json' }, '{ "name": "words", "version": "1.0.0" }');
  for (let index = 0; index < count; index += 1) tar.entry({ name: `package/${'a'.repeat(60)}${index}` }, '');
  tar.finalize();
  return whole;
}

test('a repository with a file that is too large is refused with the limit', async () => {
  await mkdir(project.path('repository'));
  const git = (...args: string[]) =>
    mustRun('git', 'git', ['-C', project.path('repository'), '-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], { fix: '' });
  await git('init', '--quiet');
  await project.write('repository/index.js', words());
  await project.write('repository/large', '');
  await truncate(project.path('repository/large'), 210 * 1024 * 1024);
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'a');
  const url = `file://${project.path('repository')}`;
  expect(await add(url)).toMatchObject({ code: 2, err: tooMuch(url) });
  expect(await project.plugins()).toEqual([]);
});

test('a package with 60,000 files is refused with the limit', async () => {
  const server = await serve(await archiveOf(60_000));
  try {
    expect(await add('words')).toMatchObject({ code: 2, err: tooMuch('words') });
    expect(await project.plugins()).toEqual([]);
  } finally {
    server.closeAllConnections();
    await once(server.close(), 'close');
  }
});

test('without a network, the error says what could not be reached', async () => {
  process.env['npm_config_registry'] = 'http://127.0.0.1:9';
  expect((await add('words')).err).toMatch(
    /^Plugin "words": it cannot be fetched: npm ended with code 1: code ECONNREFUSED \| .*http:\/\/127\.0\.0\.1:9\/words/,
  );
});

test('a file where a directory is needed is named', async () => {
  await project.write('given/words/index.js', words());
  await project.write('plugins/words', 'mine');
  expect(await add(project.path('given/words'))).toMatchObject({
    code: 2,
    err: `source: ${relative(process.cwd(), project.path('plugins/words'))} exists, and is no directory. Move it away, or give another --directory\n`,
  });
  expect(await project.read('plugins/words')).toBe('mine');
  const elsewhere = await add(project.path('given/words'), '--directory', project.path('plugins/words'));
  expect([elsewhere.code, elsewhere.err]).toEqual([
    2,
    expect.stringMatching(/^--directory: .*plugins\/words cannot take a plugin \(EEXIST: .*\)\. Name a directory that you may write to\n$/),
  ]);
});
