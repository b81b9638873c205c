import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createLogger } from '../../../src/platform/log.ts';
import { openIsolates, type Isolates } from '../../../src/plugins/isolates/load-isolated.ts';
import { loadPlugins } from '../../../src/plugins/load/load-plugins.ts';
import { contextOf } from '../isolates/support.ts';

let directory: string;
let isolates: Isolates;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-packages-'));
  isolates = await openIsolates({ log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
});
afterAll(async () => {
  await isolates[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
}

const tool = `{ id: 'greet', description: 'Greets', parameters: { type: 'object' }, kind: 'tool', annotations: {}, timeoutMs: 1000, isolation: 'host', execute: async () => word('hello') }`;
const commonJs = (id: string, assign: string) => `const word = require('shout');\n${assign} { id: '${id}', tools: [${tool}] };`;
const described = (name: string, more: object) => JSON.stringify({ name, version: '1.2.3', ...more });

/** What npm makes of packages: the dependency is beside them, or within. */
async function installPackages(): Promise<void> {
  const shout = `module.exports = (text) => text.toUpperCase();`;
  await write({
    'node_modules/shout/index.js': shout,
    'node_modules/@acme/modules/package.json': described('@acme/modules', { type: 'module', exports: { '.': { types: './x.d.ts', import: './lib/main.js' } } }),
    'node_modules/@acme/modules/lib/main.js': `import word from 'shout';\nexport default { id: 'modules', version: '7.0.0', tools: [${tool}] };`,
    'node_modules/common/package.json': described('common', { main: 'lib' }),
    'node_modules/common/lib/index.js': commonJs('common', 'module.exports ='),
    'node_modules/common/node_modules/shout/index.js': `module.exports = (text) => text + '!';`,
    'node_modules/compiled/package.json': described('compiled', { exports: { require: './main.cjs' } }),
    'node_modules/compiled/main.cjs': `Object.defineProperty(exports, '__esModule', { value: true });\n${commonJs('compiled', 'exports.default =')}`,
    'node_modules/shortened/package.json': described('shortened', { main: './main' }),
    'node_modules/shortened/main.js': commonJs('shortened', 'module.exports ='),
    'node_modules/@acme/list/package.json': described('@acme/list', { main: 'lib/index.mjs' }),
    'node_modules/@acme/list/lib/index.mjs': `import { MaiBotPlugin, tool } from 'longshore/maibot';
      class List extends MaiBotPlugin { async onLoad() {} async onUnload() {} async onConfigUpdate() {} }
      export const createPlugin = () => new List();`,
  });
}

test('packages of any build are loaded with what they depend on, and have the version of their package where they name none', async () => {
  await installPackages();
  const names = ['@acme/modules', 'common', 'compiled', 'shortened', '@acme/list'];
  const { plugins, problems } = await loadPlugins(names, { directory: join(directory, 'agents'), isolates });
  expect(problems).toEqual([]);
  expect(plugins.map(({ id, version }) => [id, version])).toEqual([
    ['modules', '7.0.0'],
    ['common', '1.2.3'],
    ['compiled', '1.2.3'],
    ['shortened', '1.2.3'],
    ['@acme/list', '1.2.3'],
  ]);
  const greetings = await Promise.all(plugins.slice(0, 3).map(({ tools }) => tools[0]!.execute({}, contextOf('conv-1'))));
  expect(greetings).toEqual(['HELLO', 'hello!', 'HELLO']);
});

test("CommonJS is taken in the worker's own process too", async () => {
  await installPackages();
  const names = ['common', 'compiled'];
  const { plugins, problems } = await loadPlugins(names, { directory, hostPlugins: names });
  expect(problems).toEqual([]);
  expect(plugins.map(({ id }) => id)).toEqual(names);
});

test('the error of a missing package, one without a plugin, and a name that is no package says what to do', async () => {
  await write({ 'node_modules/plain/index.js': 'exports.tools = [];', 'weather/index.js': '', 'node_modules/bare/package.json': '{ "main": "gone.js" }' });
  const names = ['absent', 'weather', 'plugins/weather', 'plain', 'bare'];
  const { problems } = await loadPlugins(names, { directory, isolates });
  expect(problems.map(({ error }) => error.message)).toEqual([
    `Plugin "absent": no package of this name is installed in ${directory} or above. Run: npm install absent`,
    `Plugin "weather": no package of this name is installed in ${directory} or above; there is a directory of this name, which is written ./weather. Run: npm install weather`,
    'Plugin "plugins/weather": this is not the name of a package, nor a path that begins with ./ or ../. If it is a directory, write ./plugins/weather',
    expect.stringContaining('it has no plugin as its default export'),
    `Plugin "bare": ${directory}/node_modules/bare has none of gone.js, index.js, index.mjs, index.cjs, index.ts. Put the plugin into one of these`,
  ]);
});
