import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { bundlePlugin } from '../../../src/plugins/isolates/bundle-plugin.ts';
import { problemOf } from './support.ts';

let directory: string;
beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'longshore-bundle-')));
  await write('credentials.json', '{ "key": "SECRET" }');
  await write('secret.txt', 'SECRET');
  await write('outside/module.ts', `export default 'SECRET';`);
});
afterEach(() => rm(directory, { recursive: true }));

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(directory, path)), { recursive: true });
  await writeFile(join(directory, path), text);
}

async function link(path: string, to: string): Promise<void> {
  await mkdir(dirname(join(directory, path)), { recursive: true });
  await symlink(to, join(directory, path));
}

const bundle = (root = 'agents/plugins/p', entry = 'index.ts') => {
  const at = join(directory, root);
  return bundlePlugin('./p', { root: at, entry: join(at, entry) });
};

/** What a bundle exports as default. */
const valueOf = (code: string): unknown => JSON.parse(JSON.stringify((runInNewContext(code) as { default: unknown }).default));

const STAY =
  'A plugin consists of the files below its own directory and of installed packages; put a copy of the file there, or install what it needs as a package and import it by its name';

test('nothing outside of the plugin and its packages is bundled, however it is named', async () => {
  const P = 'agents/plugins/p';
  await link(`${P}/linked.json`, '../../../credentials.json');
  await link(`${P}/linked`, '../../../outside');
  await link(`${P}/node_modules/inner`, '../../../../outside');
  await link('node_modules/workspace', '../outside');
  await link('node_modules/@scope/workspace', '../../outside');
  await write('node_modules/main-outside/package.json', '{ "main": "../../outside/module.ts" }');
  await write('node_modules/exports-outside/package.json', '{ "exports": { ".": "./../../outside/module.ts" } }');
  await write('node_modules/relative/index.js', `export { default } from '../../credentials.json';`);
  await write('node_modules/other/data.json', '{}');
  await write('node_modules/.cache/state.json', '{}');
  await write(`${P}/package.json`, JSON.stringify({ imports: { '#out': '../../../credentials.json', '#in': './in.json' } }));
  await write(`${P}/tsconfig.json`, JSON.stringify({ compilerOptions: { paths: { '@out/*': ['../../../*'], '@in/*': ['./*'] } } }));
  await write(`${P}/in.json`, '7');
  const imports: [code: string, problem: string | RegExp][] = [
    [`import x from '../../../credentials.json'; export default x;`, `"../../../credentials.json" leads out of the plugin. ${STAY}`],
    [`export { default } from ${JSON.stringify(join(directory, 'credentials.json'))};`, /leads out of the plugin\. A plugin/],
    [`export default require('../../../credentials.json');`, /leads out of the plugin\. /],
    [`export default () => import('../../../outside/module');`, /leads out of the plugin\. /],
    [`export default import('..');`, /".." leads out of the plugin\. /],
    [`import x from './a/../../../../credentials.json'; export default x;`, /leads out of the plugin\. /],
    [`import x from '..\\\\..\\\\..\\\\credentials.json'; export default x;`, /there is no|leads out/],
    [`import x from './linked.json'; export default x;`, `"./linked.json" leads out of the plugin, to ${directory}/credentials.json. ${STAY}`],
    [`import x from './linked/module.ts'; export default x;`, `"./linked/module.ts" leads out of the plugin, to ${directory}/outside/module.ts. ${STAY}`],
    [`import x from 'inner/module'; export default x;`, /"inner\/module" leads out of the plugin, to .*outside/],
    [`import x from 'workspace/module'; export default x;`, /"workspace\/module" leads out of the plugin, to .*outside/],
    [`import x from 'workspace'; export default x;`, `"workspace" leads out of the plugin, to ${directory}/outside. ${STAY}`],
    [`import x from '@scope/workspace'; export default x;`, /"@scope\/workspace" leads out of the plugin, to .*outside/],
    [`import x from 'main-outside'; export default x;`, /leads out of the plugin|is not installed/],
    [`import x from 'exports-outside'; export default x;`, /leads out of the plugin|is not installed/],
    [`import x from 'relative'; export default x;`, /relative\/index\.js:1: "\.\.\/\.\.\/credentials\.json" leads out of the plugin, out of the package /],
    [`import x from '../../../node_modules/other/data.json'; export default x;`, /leads out of the plugin\. /],
    [`import x from '.cache/state.json'; export default x;`, /is not installed|leads out/],
    [`import x from '#out'; export default x;`, /leads out of the plugin|is not installed/],
    [`import x from '@out/credentials.json'; export default x;`, /leads out of the plugin|is not installed/],
    [`import x from 'file://${directory}/credentials.json'; export default x;`, /is a URL\. Plugins import files and packages only/],
    [`import x from 'data:application/json,1'; export default x;`, /"data:application\/json,1" is a URL/],
    [`import x from 'https://example.org/x.js'; export default x;`, /is a URL/],
    [`import x from './in.json' with { type: 'text' }; export default x;`, /in\.json cannot be imported with \{"type":"text"\}/],
    [`import x from './in.json\\0'; export default x;`, /is no path/],
    [`const n = globalThis.n; export default import('../../../' + n + '.json');`, /index\.ts imports by a path that is only known when it runs/],
    ['const n = globalThis.n; export default import(/* c */ (`./${n}.json`));', /only known when it runs/],
    [`const n = globalThis.n; export default requ\\u0069re(('\\x2e./' + '../' + n));`, /only known when it runs/],
    [`enum At { up = '../' } const n = globalThis.n; export default import(At.up + n);`, /only known when it runs/],
  ];
  for (const [code, problem] of imports) {
    await write(`${P}/index.ts`, code);
    const told = await problemOf(bundle());
    expect(`${code} → ${told}`).toMatch(/→ Plugin "\.\/p": /);
    expect(`${code} → ${told}`).not.toContain('SECRET');
    if (typeof problem === 'string') expect(told).toBe(`Plugin "./p": index.ts:1: ${problem}`);
    else expect(told).toMatch(problem);
  }
  await write(`${P}/view.tsx`, `/* @jsxImportSource ../../../outside */ /* @jsxRuntime automatic */ export default <a/>;`);
  expect(await problemOf(bundle(P, 'view.tsx'))).toContain('view.tsx:1: "../../../outside/jsx-runtime" leads out of the plugin');
  await write(`${P}/index.ts`, `import a from '#in'; import b from '@in/in.json'; export default [a, b];`);
  expect(valueOf((await bundle()).code)).toEqual([7, 7]);
});

test('names that mean a file elsewhere are names and nothing more, and none of them is read', async () => {
  const P = 'agents/plugins/p';
  await write(
    `${P}/tsconfig.json`,
    JSON.stringify({
      extends: '../../../outside/tsconfig.json',
      references: [{ path: '../../../outside' }],
      compilerOptions: { baseUrl: '../../..', rootDirs: ['../../../outside'] },
    }),
  );
  await write('outside/tsconfig.json', JSON.stringify({ compilerOptions: { paths: { secret: ['./module.ts'] }, jsxFactory: 'SECRET' } }));
  await write(
    `${P}/package.json`,
    JSON.stringify({
      browser: { './own.js': '../../../outside/module.ts' },
      module: '../../../outside/module.ts',
      esbuild: { plugins: ['../../../outside/module.ts'] },
      exports: { './x': '../../../outside/module.ts' },
      name: 'p',
    }),
  );
  await write(`${P}/own.js`, `export default 'own';\n//# sourceMappingURL=../../../credentials.json`);
  await write(`${P}/.env`, 'SECRET=1');
  await write(
    'node_modules/sealed/package.json',
    JSON.stringify({ exports: { './*': './../../outside/*' }, main: './lib/../../../outside/module.ts', browser: '../../outside/module.ts' }),
  );
  const harmless: [code: string, value: unknown][] = [
    [`import x from './own.js'; export default x;`, 'own'],
    [`export default String(typeof require.resolve === 'function' ? 'resolves' : 'none');`, expect.anything()],
    [`/// <reference path="../../../credentials.json" />\n/* @import '../../../credentials.json' */ export default 1;`, 1],
  ];
  for (const [code, value] of harmless) {
    await write(`${P}/index.ts`, code);
    const { code: bundled } = await bundle();
    expect(bundled).not.toContain('SECRET');
    expect(bundled).not.toContain('sourceMappingURL');
    if (!code.includes('require')) expect(valueOf(bundled)).toEqual(value);
  }
  const never = [
    `import x from 'secret'; export default x;`,
    `import x from 'outside/module'; export default x;`,
    `import x from 'p/x'; export default x;`,
    `import x from 'sealed'; export default x;`,
    `import x from 'sealed/module.ts'; export default x;`,
    `import x from './%2e%2e/%2e%2e/%2e%2e/credentials.json'; export default x;`,
    `import x from './..%2f..%2f..%2fcredentials.json'; export default x;`,
    `import x from './own.js?raw'; import y from '../../../credentials.json?url'; export default [x, y];`,
    `import x from './.env'; export default x;`,
    `import x from '/proc/self/environ'; export default x;`,
    `import x from '/proc/self/cwd/package.json'; export default x;`,
    `import * as x from './native.node'; export default x;`,
    `import x from './code.wasm'; export default x;`,
    `import x from './style.css'; export default x;`,
    `@import '../../../credentials.json'; export default 1;`,
  ];
  for (const file of ['native.node', 'code.wasm', 'style.css']) await write(`${P}/${file}`, '@import "../../../secret.txt";');
  for (const code of never) {
    await write(`${P}/index.ts`, code);
    const told = await problemOf(bundle().then(({ code: bundled }) => bundled));
    expect(`${code} → ${told}`).toMatch(/→ Plugin "\.\/p": /);
    expect(told).not.toContain('SECRET');
  }
  // What stays as it is written has nothing to read with in a compartment.
  for (const code of [`export default new URL('../../../credentials.json', import.meta.url)`, `export default import.meta.glob('../../../*.json')`]) {
    await write(`${P}/index.ts`, `${code};`);
    expect(await problemOf(bundle().then(({ code: bundled }) => ({ read: bundled.includes('SECRET') })))).not.toContain('"read":true');
  }
});

test('a file that is exchanged for a link while it is bundled is never read from elsewhere', async () => {
  const P = 'agents/plugins/p';
  const at = join(directory, P, 'data.json');
  await write(`${P}/index.ts`, `import x from './data.json'; export default x;`);
  await write(`${P}/data.json`, '"own"');
  const done = new AbortController();
  const exchange = async (): Promise<void> => {
    for (let round = 0; !done.signal.aborted; round += 1) {
      const beside = join(directory, P, `beside-${round}`);
      if (round % 2 === 0) await symlink('../../../credentials.json', beside);
      else await writeFile(beside, '"own"');
      await rename(beside, at);
    }
  };
  const exchanging = exchange();
  const outcomes = new Set<string>();
  for (let round = 0; round < 40; round += 1) {
    const told = await bundle().then(
      ({ code }) => JSON.stringify(valueOf(code)),
      ({ message }: Error) => message,
    );
    expect(told).not.toContain('SECRET');
    outcomes.add(told.includes('leads out') ? 'leads out' : told.startsWith('Plugin') ? 'refused' : told);
  }
  done.abort();
  await exchanging;
  // It was not always the same that was found.
  expect(outcomes.size).toBeGreaterThan(1);
});

test('only code and JSON are bundled, and files that never end are not read', async () => {
  const P = 'agents/plugins/p';
  await write(`${P}/own.txt`, 'x');
  await write(`${P}/big.json`, JSON.stringify('x'.repeat(17_000_000)));
  await link(`${P}/zero.json`, '/dev/zero');
  await link(`${P}/environ.json`, '/proc/self/environ');
  execFileSync('mkfifo', [join(directory, P, 'pipe.json')]);
  for (const [file, problem] of [
    ['own.txt', 'own.txt cannot be imported. Import TypeScript, JavaScript and JSON only'],
    ['big.json', 'big.json has 17000002 bytes, and files of plugins have 16777216 at most'],
    ['zero.json', 'leads out of the plugin, to /dev/zero'],
    ['environ.json', 'leads out of the plugin, to /proc/'],
    ['pipe.json', 'pipe.json'],
  ]) {
    await write(`${P}/index.ts`, `import x from './${file}';\nexport default x;`);
    expect(await problemOf(bundle())).toContain(problem);
  }
});

test('a package.json or tsconfig.json that leads elsewhere or is a pipe is not read', async () => {
  for (const file of ['package.json', 'tsconfig.json']) {
    const P = `agents/plugins/${file}`;
    await write(`${P}/index.ts`, `import { x } from './lib'; export default x;`);
    await write(`${P}/lib/index.ts`, `export const x = 1;`);
    await link(`${P}/${file}`, '../../../credentials.json');
    execFileSync('mkfifo', [join(directory, P, 'lib', file)]);
    expect(valueOf((await bundle(P)).code)).toBe(1);
  }
});

test('what no digest covers is no part of a plugin, however it is reached', async () => {
  const P = 'agents/plugins/p';
  await write(`${P}/.git/hidden.ts`, `export default 'HIDDEN';`);
  await write(`${P}/inner/.git/hidden.ts`, `export default 'HIDDEN';`);
  await write(`${P}/node_modules/dep/package.json`, JSON.stringify({ name: 'dep', main: '.git/index.js' }));
  await write(`${P}/node_modules/dep/.git/index.js`, `module.exports = 'HIDDEN';`);
  await link(`${P}/linked.ts`, '.git/hidden.ts');
  for (const specifier of ['./.git/hidden.ts', './inner/.git/hidden.ts', 'dep', './linked.ts']) {
    await write(`${P}/index.ts`, `import hidden from ${JSON.stringify(specifier)}; export default hidden;`);
    expect(await problemOf(bundle())).toContain('leads out of the plugin');
  }
  expect(await problemOf(bundle(P, '.git/hidden.ts'))).toContain('leads out of the plugin');
  // Names that only begin so are those of ordinary files.
  await write(`${P}/.github/shown.ts`, `export default 'SHOWN';`);
  await write(`${P}/index.ts`, `export { default } from './.github/shown.ts';`);
  expect(valueOf((await bundle()).code)).toBe('SHOWN');
});

test('an entry outside of the plugin is refused', async () => {
  await write('agents/plugins/p/readme.md', '');
  await link('agents/plugins/p/linked.ts', '../../../outside/module.ts');
  expect(await problemOf(bundle('agents/plugins/p', '../../../outside/module.ts'))).toContain('leads out of the plugin');
  expect(await problemOf(bundle('agents/plugins/p', 'linked.ts'))).toContain(`leads out of the plugin, to ${directory}/outside/module.ts`);
});

test('packages are found where npm and pnpm put them, and the plugin itself may be reached by a link', async () => {
  await write('node_modules/hoisted/package.json', '{ "type": "module", "exports": { "import": "./lib/a.js" }, "sideEffects": false }');
  await write('node_modules/hoisted/lib/a.js', `import { b } from './b.js'; import inner from 'nested'; export const a = [b, inner];`);
  await write('node_modules/hoisted/lib/b.js', `export const b = 'b';`);
  await write('node_modules/hoisted/node_modules/nested/index.js', `module.exports = require('./data');`);
  await write('node_modules/hoisted/node_modules/nested/data.json', `"nested"`);
  await write('node_modules/.pnpm/stored@1/node_modules/stored/package.json', '{ "main": "main" }');
  await write('node_modules/.pnpm/stored@1/node_modules/stored/main.js', `exports.stored = require('peer');`);
  await write('node_modules/.pnpm/peer@1/node_modules/peer/index.cjs', '');
  await write('node_modules/.pnpm/peer@1/node_modules/peer/package.json', '{ "main": "./index.cjs" }');
  await write('node_modules/.pnpm/peer@1/node_modules/peer/index.cjs', `module.exports = 'peer';`);
  await link('node_modules/.pnpm/stored@1/node_modules/peer', '../../peer@1/node_modules/peer');
  await link('node_modules/stored', '.pnpm/stored@1/node_modules/stored');
  await write('elsewhere/p/node_modules/own/index.js', `export default 'own';`);
  await write('agents/p/package.json', '{ "type": "module" }');
  await write('agents/p/lib/deep.tsx', `export const deep: string = 'deep';`);
  const code = `import { a } from 'hoisted'; import { stored } from 'stored'; import { deep } from './lib/deep.js';
    let optional = 'none'; try { optional = require('not-installed'); } catch {}
    export default [a, stored, deep, optional];`;
  await write('agents/p/index.ts', code);
  await link('agents/by-link', 'p');
  expect(valueOf((await bundle('agents/p')).code)).toEqual([['b', 'nested'], 'peer', 'deep', 'none']);
  expect(valueOf((await bundle('agents/by-link')).code)).toEqual([['b', 'nested'], 'peer', 'deep', 'none']);
  await write('elsewhere/p/index.ts', `import own from 'own'; export default own;`);
  expect(valueOf((await bundle('elsewhere/p')).code)).toEqual('own');
});

test('a module imports CommonJS as Node does', async () => {
  await write('p/lib.cjs', `exports.__esModule = true; exports.default = 'inner';`);
  await write('p/package.json', '{ "type": "module" }');
  await write('p/index.js', `import lib from './lib.cjs'; export default lib;`);
  expect(valueOf((await bundle('p', 'index.js')).code)).toEqual({ __esModule: true, default: 'inner' });
});

test('what runs in the sandbox is bundled from the same files', async () => {
  await write('p/index.ts', `import { readFileSync } from 'node:fs'; import x from './linked.json'; export default { x, readFileSync };`);
  await link('p/linked.json', '../credentials.json');
  expect(await problemOf(bundle('p'))).toContain('leads out of the plugin');
  await rm(join(directory, 'p/linked.json'));
  await write('p/linked.json', '1');
  const { forSandbox } = await bundle('p');
  expect(await forSandbox()).toContain('require("node:fs")');
  await rm(join(directory, 'p/linked.json'));
  await link('p/linked.json', '../credentials.json');
  expect(await problemOf(forSandbox())).toContain('leads out of the plugin');
});
