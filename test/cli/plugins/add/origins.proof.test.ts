import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { chmod, mkdir, symlink } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { mustRun } from '../../../../src/platform/run-command.ts';
import { AGENT, useProject, words, type Project } from './support.ts';

let project: Project;
useProject((made) => (project = made));

const add = (source: string, ...args: string[]) => project.line(['plugins', 'add', source, '--yes', ...args]);
const present = (name: string) =>
  project.read(name).then(
    () => true,
    () => false,
  );

const git = (...args: string[]) =>
  mustRun('git', 'git', ['-C', project.path('repository'), '-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], { fix: '' });

async function commit(files: Record<string, string>): Promise<string> {
  for (const [name, text] of Object.entries(files)) await project.write(`repository/${name}`, text);
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'a');
  return (await git('rev-parse', 'HEAD')).trim();
}

/** Wherever it is run, it leaves a file. */
async function trap(name: string): Promise<void> {
  await project.write(name, `#!/bin/sh\ntouch ${project.path('sprung')}\n`);
  await chmod(project.path(name), 0o755);
}

describe('a repository of git', () => {
  let url: string;
  beforeEach(async () => {
    await mkdir(project.path('repository'));
    await git('init', '--quiet', '--initial-branch=main');
    url = `file://${project.path('repository')}`;
  });

  test('is added at a branch, a tag or a commit; its pin has the commit', async () => {
    const first = await commit({ 'index.js': words() });
    await git('tag', 'v1');
    const second = await commit({ 'index.js': words({ version: '2.0.0' }) });
    const added = await add(`${url}#v1`, '--agent', 'fixer');
    expect(added).toMatchObject({ code: 0, err: '', out: expect.stringContaining(`\nsource: ${url}#${first}\n`) as string });
    expect(await project.read('agents/fixer.yaml')).toContain(`plugins:\n  - { path: ../plugins/words, source: ${url}#${first}, digest: sha256:`);
    const updated = await add(url);
    expect(updated.out).toContain(`\n  version: 1.0.0 -> 2.0.0\n  source: ${url}#${first} -> ${url}#${second}\n`);
    expect((await add(`${url}#${first}`)).out).toContain('\n  version: 2.0.0 -> 1.0.0\n');
    expect((await add(`${url}#main`)).out).toContain('\nAdded words 2.0.0.\n');
    expect(await present('plugins/words/.git')).toBe(false);
    const absent = await add(`${url}#v9`);
    expect([absent.code, absent.err]).toEqual([
      2,
      `Plugin "${url}#v9": it cannot be fetched: git ended with code 128: fatal: couldn't find remote ref v9. Correct the name or the address, or what it needs to be reached\n`,
    ]);
  });

  test('runs nothing: no hooks of templates or of settings, no filters, no submodules, no other protocols, and not in another repository', async () => {
    await trap('template/hooks/reference-transaction');
    await trap('template/hooks/post-checkout');
    await trap('evil.sh');
    const evil = project.path('evil.sh');
    await project.write(
      'gitconfig',
      `[init]\n templateDir = ${project.path('template')}\n[core]\n hooksPath = ${project.path('template/hooks')}\n[filter "x"]\n smudge = ${evil}\n`,
    );
    await mkdir(project.path('other'));
    await mustRun('git', 'git', ['init', '--quiet', project.path('other')], { fix: '' });
    process.env['GIT_CONFIG_GLOBAL'] = '/dev/null';
    await commit({
      'index.js': words(),
      '.gitattributes': '*.js filter=x text eol=crlf\n*.md export-ignore\n',
      'notes.md': 'Notes.',
      '.gitmodules': `[submodule "x"]\n path = x\n url = ext::${evil}\n`,
    });
    await git('config', 'uploadpack.packObjectsHook', evil);
    process.env['GIT_CONFIG_GLOBAL'] = project.path('gitconfig');
    process.env['GIT_DIR'] = project.path('other/.git');
    expect(await add(url)).toMatchObject({ code: 0, err: '' });
    expect(await present('sprung')).toBe(false);
    expect(await project.plugins()).toEqual(['words']);
    expect(await present('plugins/words/.gitmodules')).toBe(true);
    // Nothing is left out or changed.
    expect([await project.read('plugins/words/notes.md'), await project.read('plugins/words/index.js')]).toEqual(['Notes.', words()]);
  });

  test('with a link in it is refused, and leaves nothing', async () => {
    await project.write('repository/index.js', words());
    await symlink('/etc/passwd', project.path('repository/notes'));
    await commit({});
    expect(await add(url)).toMatchObject({ code: 2, err: `Plugin "${url}": its "notes" is no ordinary file. Put the file itself there\n` });
    expect(await project.plugins()).toEqual([]);
  });
});

describe('a package of npm', () => {
  let server: Server;
  let registry: string;
  const archives = new Map<string, Buffer>();
  /** Given in place of the archive of that path. */
  const swapped = new Map<string, Buffer>();
  beforeEach(async () => {
    archives.clear();
    swapped.clear();
    server = createServer((request, response) => void response.end(answerTo(decodeURIComponent(request.url ?? ''))));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    process.env['npm_config_registry'] = registry;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });

  /** As a registry answers: an archive, or what is known of the package. */
  function answerTo(path: string): Buffer | string {
    const described = [...archives].map(([name, archive]) => {
      const version = /-(\d.*)\.tgz$/.exec(name)?.[1] ?? '';
      const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
      return [version, { name: '@acme/words', version, dist: { tarball: registry + name, integrity } }] as const;
    });
    const about = { name: '@acme/words', 'dist-tags': { latest: described.at(-1)?.[0] }, versions: Object.fromEntries(described) };
    return swapped.get(path) ?? archives.get(path) ?? JSON.stringify(path === '/@acme/words' ? about : {});
  }

  async function publish(version: string, files: Record<string, string>): Promise<void> {
    const tar = pack();
    for (const [name, text] of Object.entries(files)) tar.entry({ name: `package/${name}` }, text);
    tar.finalize();
    archives.set(`/words-${version}.tgz`, gzipSync(await buffer(tar)));
  }

  const manifest = (version: string, more: object = {}) => JSON.stringify({ name: '@acme/words', version, type: 'module', main: 'index.js', ...more });

  test('is added in an exact version, and none of its scripts runs', async () => {
    await trap('evil.sh');
    const script = project.path('evil.sh');
    const scripts = Object.fromEntries(['preinstall', 'install', 'postinstall', 'prepare', 'prepack', 'postpack'].map((name) => [name, script]));
    await publish('1.0.0', { 'index.js': words({ id: '@acme/words' }), 'package.json': manifest('1.0.0', { scripts }) });
    await publish('1.1.0', {
      'index.js': words({ id: '@acme/words', version: '1.1.0' }),
      'package.json': manifest('1.1.0', { scripts, dependencies: { left: '^1.0.0' } }),
    });
    // Settings of the directory that one happens to be in are not those of the person.
    await project.write('.npmrc', 'registry=http://127.0.0.1:1\n');
    const home = process.cwd();
    process.chdir(project.directory);
    try {
      const added = await add('@acme/words@1.0.0', '--agent', 'fixer');
      expect(added).toMatchObject({ code: 0, err: '', out: expect.stringContaining('\nsource: npm:@acme/words@1.0.0\ndirectory: plugins/words\n') as string });
      const updated = await add('@acme/words');
      expect(updated.out).toContain('\n  new packages: left@^1.0.0\n  version: 1.0.0 -> 1.1.0\n  source: npm:@acme/words@1.0.0 -> npm:@acme/words@1.1.0\n');
    } finally {
      process.chdir(home);
    }
    expect(await project.read('agents/fixer.yaml')).toContain(`${AGENT}plugins:\n  - { path: ../plugins/words, source: npm:@acme/words@1.1.0, digest: sha256:`);
    expect(await present('sprung')).toBe(false);
    expect(await project.plugins()).toEqual(['words']);
  });

  test('that does not exist, or is not what the registry says, is refused, and leaves nothing', async () => {
    await publish('1.0.0', { 'index.js': words(), 'package.json': manifest('1.0.0') });
    const absent = await add('@acme/words@9.0.0');
    expect([absent.code, absent.err]).toEqual([
      2,
      expect.stringMatching(/^Plugin "@acme\/words@9\.0\.0": it cannot be fetched: npm ended with code 1: .*No matching version/),
    ]);
    await publish('1.5.0', { 'index.js': words(), 'package.json': manifest('1.5.0') });
    swapped.set('/words-1.5.0.tgz', archives.get('/words-1.0.0.tgz')!);
    const other = await add('@acme/words@1.5.0');
    expect([other.code, other.err]).toEqual([
      2,
      expect.stringMatching(/^Plugin "@acme\/words@1\.5\.0": it cannot be fetched: npm ended with code 1: .*EINTEGRITY/),
    ]);
    await publish('2.0.0', { '../../index.js': words(), 'package.json': manifest('2.0.0') });
    expect(await add('@acme/words@2.0.0')).toMatchObject({
      code: 2,
      err: 'Plugin "@acme/words@2.0.0": its "../../index.js" is no usable name of a file. Rename it\n',
    });
    expect(await project.plugins()).toEqual([]);
  });
});
