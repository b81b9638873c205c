import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createLogger } from '../../../src/platform/log.ts';
import { definePlugin } from '../../../src/plugins/api/define-plugin.ts';
import { bundlePlugin } from '../../../src/plugins/isolates/bundle-plugin.ts';
import { openIsolates } from '../../../src/plugins/isolates/load-isolated.ts';
import { loadPlugins } from '../../../src/plugins/load/load-plugins.ts';
import { contextOf } from '../isolates/support.ts';
import { echoTool } from '../tools.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-plugins-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(directory, path)), { recursive: true });
  await writeFile(join(directory, path), text);
}

function source(id: string): string {
  return `export default { id: '${id}', version: '1', description: '', tools: [{
    id: 'echo', description: 'Echoes', parameters: { type: 'object' }, kind: 'tool', annotations: {}, timeoutMs: 1000, isolation: 'host',
    execute: async (input) => input }] };`;
}

test('a directory with an index file, one with a package.json and an installed package are loaded', async () => {
  await write('one/index.mjs', source('one'));
  await write('two/package.json', '{ "exports": { ".": { "import": "./lib/main.mjs" } } }');
  await write('two/lib/main.mjs', source('two'));
  await write('node_modules/@scope/three/package.json', '{ "main": "three.mjs" }');
  await write('node_modules/@scope/three/three.mjs', source('three'));
  const names = ['./one', join(directory, 'two'), '@scope/three', './one'];
  const { plugins, problems } = await loadPlugins(names, { directory, hostPlugins: names });
  expect(problems).toEqual([]);
  expect(plugins.map(({ id }) => id)).toEqual(['one', 'two', 'three']);
});

test('exports that are null do not count, as in Node', async () => {
  await write('one/package.json', '{ "exports": null, "main": "main.mjs" }');
  await write('one/main.mjs', source('one'));
  const { plugins, problems } = await loadPlugins(['./one'], { directory, hostPlugins: ['./one'] });
  expect([plugins.map(({ id }) => id), problems]).toEqual([['one'], []]);
});

test.each(['null', '[]', '"text"', '7'])('a package.json that is no object is an error that names it: %s', async (text) => {
  await write('one/package.json', text);
  await write('one/index.mjs', source('one'));
  const { problems } = await loadPlugins(['./one'], { directory, hostPlugins: ['./one'] });
  expect(problems.map(({ error }) => error.message)).toEqual([`Plugin "./one": ${join(directory, 'one/package.json')} is no JSON object. Correct that file`]);
});

test('a plugin is bundled with zod only where it uses it', async () => {
  const tool = (parameters: string) => `defineTool({ id: 'a', description: 'A', parameters: ${parameters}, execute: async () => 1 })`;
  const plugin = (parameters: string) => `export default definePlugin({ id: 'p', tools: [${tool(parameters)}] });`;
  const imports = `import { definePlugin, defineTool } from 'longshore/plugins';`;
  await write('plain.ts', `${imports} ${plugin(`{ type: 'object' }`)}`);
  await write('typed.ts', `import { z } from 'zod'; ${imports} ${plugin('z.object({})')}`);
  const bundle = async (name: string) => (await bundlePlugin(name, { entry: join(directory, name) })).code;
  expect([(await bundle('plain.ts')).includes('ZodObject'), (await bundle('typed.ts')).includes('ZodObject')]).toEqual([false, true]);
});

test('a plugin that fails is reported with its error and does not stop the others', async () => {
  await write('good/index.mjs', source('good'));
  await write('throws/index.mjs', 'throw new Error("no licence");');
  await write('empty/readme.md', '');
  await write('named/index.mjs', 'export const plugin = 1;');
  await write('wrong/index.mjs', "export default { id: 'wrong', tools: 7 };");
  await write('broken/package.json', '{');
  await write('schema/index.mjs', source('schema').replace("type: 'object' }", "type: 'object', properties: 7 }"));
  const names = ['./throws', './missing', './empty', './named', './wrong', './broken', './schema', 'not-installed', './good'];
  const { plugins, problems } = await loadPlugins(names, { directory, hostPlugins: names });
  expect(plugins.map(({ id }) => id)).toEqual(['good']);
  expect(problems.map(({ name }) => name)).toEqual(names.slice(0, -1));
  expect(problems.map(({ error }) => error.message)).toEqual([
    expect.stringMatching(/^Plugin "\.\/throws": .*index\.mjs cannot be imported \(no licence\)\. Correct that file$/),
    expect.stringContaining('there is no directory'),
    expect.stringContaining('has none of index.js, index.mjs, index.cjs, index.ts'),
    expect.stringContaining('it has no plugin as its default export; write: export default definePlugin({ … }). Correct that file'),
    expect.stringContaining('"tools" is not a list'),
    expect.stringContaining('package.json cannot be read as JSON'),
    expect.stringContaining('the parameters of tool "echo" are not a valid JSON Schema'),
    expect.stringContaining('Run: npm install not-installed'),
  ]);
});

test('a plugin in Python is told what is supported', async () => {
  await write('mai/plugin.py', 'x');
  await write('nekro/pyproject.toml', 'x');
  await write('other/thing.py', 'x');
  await write('whole/plugin.py', 'x');
  await write('whole/_manifest.json', '{}');
  const { problems } = await loadPlugins(['./mai', './nekro', './other', './whole'], { directory });
  expect(problems.pop()?.error.message).toBe('Plugin "./whole": it is written in Python, and this process has no sandboxes to run it in. Load it in a worker');
  expect(problems.map(({ error }) => error.message)).toEqual(
    [
      ['mai', 'plugin.py'],
      ['nekro', 'pyproject.toml'],
      ['other', 'thing.py'],
    ].map(([name, file]) =>
      expect.stringMatching(
        `^Plugin "./${name}": .*/${name} is a plugin in Python \\(${file}\\) of a kind that is not supported. One that is loaded as it is has plugin.py and _manifest.json, or an __init__.py or a plugin.py whose code makes a NekroPlugin of nekro_agent. Otherwise write it with longshore/maibot`,
      ),
    ),
  );
});

test('two plugins of one id are a problem of the second, a built-in one included', async () => {
  await write('one/index.mjs', source('same'));
  await write('two/index.mjs', source('same'));
  await write('shell/index.mjs', source('shell'));
  const known = [definePlugin({ id: 'shell', tools: [echoTool('run')] })];
  const { plugins, problems } = await loadPlugins(['./one', './two', './shell'], { directory, known, hostPlugins: ['./one', './two', './shell'] });
  expect(plugins.map(({ id }) => id)).toEqual(['shell', 'same']);
  expect(problems.map(({ error }) => error.message)).toEqual([
    'Two plugins provide "same": ./one and ./two. Rename one.',
    'Two plugins provide "shell": a built-in plugin and ./shell. Rename one.',
  ]);
});

test('what cannot be bundled or evaluated is told with its place, the reason and what to do instead', async () => {
  const refused: [code: string, message: string | RegExp][] = [
    [`import x from 'left-padx'; export default x;`, 'index.ts:1: "left-padx" is not installed. Install it beside the plugin: npm install left-padx'],
    [
      `import { connect } from 'longshore/client'; export default connect;`,
      'index.ts:1: "longshore/client" is not for plugins. Import longshore/plugins, longshore/maibot or longshore/nekro',
    ],
    [
      `import x from './data.node'; export default x;`,
      'index.ts:1: data.node is native code, which does not run in a compartment. Correct it, or ask the operator to load this plugin with isolation host',
    ],
    [
      `import x from './data.wasm'; export default x;`,
      'index.ts:1: data.wasm is WebAssembly, which a compartment does not have. Correct it, or ask the operator to load this plugin with isolation host',
    ],
    [`import './data.css'; export default 1;`, 'index.ts:1: data.css cannot be imported. Import TypeScript, JavaScript and JSON only'],
    [`\nexport default await Promise.resolve(1);`, "index.ts:2: await does not work outside of functions. Await it in the tool, or in the plugin's load"],
    [`\n\nconst = 3;`, 'index.ts:3: Expected identifier but found "=". Correct it'],
    [`export default eval('1');`, /uses eval\(…, which a compartment does not have\. Import what it needs by a fixed name; do without eval$/],
    [
      `export default process.env.HOME;`,
      /cannot be loaded \(Cannot read properties of undefined \(reading 'env'\); process does not exist in a compartment, use context\.env with permissions\.env\)\. Correct that file$/,
    ],
    [
      `export default structuredClone({});`,
      /structuredClone does not exist in a compartment, use JSON\.parse\(JSON\.stringify\(value\)\)\)\. Correct that file$/,
    ],
    [
      `const none: any = undefined; export default none.env;`,
      /cannot be loaded \(Cannot read properties of undefined \(reading 'env'\)\)\. Correct that file$/,
    ],
  ];
  await using isolates = await openIsolates({ log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
  for (const [index, [code, message]] of refused.entries()) {
    await write(`refused-${index}/index.ts`, code);
    for (const kind of ['node', 'wasm', 'css']) await write(`refused-${index}/data.${kind}`, 'x');
    const { problems } = await loadPlugins([`./refused-${index}`], { directory, isolates });
    expect(problems[0]?.error.message).toEqual(typeof message === 'string' ? `Plugin "./refused-${index}": ${message}` : expect.stringMatching(message));
  }
});

test('a plugin that the operator did not name for the host runs in a process of its own, and is not loaded where there are none', async () => {
  await write('own/index.ts', source('own').replace('async (input) => input', 'async (input: object) => typeof process'));
  await write('files/index.ts', `import { tail } from './deep/tail.ts';\n${source('files')}\nvoid tail;`);
  await write('files/deep/tail.ts', `import { readFileSync } from 'node:fs';\nexport const tail = readFileSync;`);
  await write('child/index.ts', `import 'child_process';\n${source('child')}`);
  await write('late/index.ts', `const name = 'a'; export default await import(name);`);
  await write('lost/index.ts', `import { x } from './nowhere.ts'; export default x;`);
  await write('throws/index.ts', `throw new Error('no licence');`);
  await write('bare/index.ts', `export const plugin = 1;`);
  await using isolates = await openIsolates({ log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
  const names = ['./own', './files', './child', './late', './lost', './throws', './bare'];
  const { plugins, problems } = await loadPlugins(names, { directory, isolates });
  expect(plugins.map(({ id }) => id)).toEqual(['own']);
  expect(plugins[0]!.tools[0]!.isolation).toBe('compartment');
  expect(await plugins[0]!.tools[0]!.execute({}, contextOf('conv-1'))).toBe('undefined');
  expect(problems.map(({ error }) => error.message)).toEqual([
    'Plugin "./files": deep/tail.ts:1: "node:fs" does not exist in a compartment; use readFile(path) with permissions.fs, or context.files. Correct it, give the tools that need it isolation container, or ask the operator to load this plugin with isolation host',
    expect.stringContaining('index.ts:1: "child_process" does not exist in a compartment; use context.sandbox.exec'),
    expect.stringMatching(/^Plugin "\.\/late": .*index\.ts/),
    'Plugin "./lost": index.ts:1: there is no "./nowhere.ts". Correct the path',
    expect.stringMatching(/index\.ts cannot be loaded \(no licence\)\. Correct that file$/),
    expect.stringContaining('it has no plugin as its default export; write: export default definePlugin({ … })'),
  ]);
  const without = await loadPlugins(['./own'], { directory });
  expect(without.problems[0]?.error.message).toBe(
    'Plugin "./own": this process cannot isolate plugins. Load it in a worker, or name it in LONGSHORE_HOST_PLUGINS',
  );
});
