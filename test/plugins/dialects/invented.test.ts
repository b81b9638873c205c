import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogger } from '../../../src/platform/log.ts';
import type { Plugin } from '../../../src/plugins/api/define-plugin.ts';
import { DIALECTS } from '../../../src/plugins/dialects/dialects.ts';
import type { PluginDialect } from '../../../src/plugins/dialects/shared/plugin-dialect.ts';
import { loadPlugins } from '../../../src/plugins/load/load-plugins.ts';
import { collisionOfNames } from '../../../src/plugins/manager/bare-names.ts';
import { startInstance } from '../../../src/plugins/manager/plugin-instance.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import { describeTools } from '../../../src/tool-calls/offer/describe-tools.ts';
import { runLine } from '../../cli/support.ts';
import { openWorkbench, problemOf, run, type Workbench } from '../isolates/support.ts';

/** A dialect whose plugins are a file of tools, `klingon.ts`. Nothing but the list knows it. */
const klingon: PluginDialect = {
  name: 'klingon',
  sdk: { imports: ['longshore/klingon'], file: new URL('../../../src/plugins/api/define-plugin.ts', import.meta.url) },
  loader: {
    locate: (root) =>
      stat(join(root, 'klingon.ts')).then(
        () => join(root, 'klingon.ts'),
        () => undefined,
      ),
    async load({ name, root, isolate }) {
      if (!isolate) throw new Error(`${name} needs a process`);
      return isolate({ entry: join(root, 'klingon.ts'), defaults: { description: 'told by the loader' } });
    },
  },
  transform: async (source) => ({ source: source.replaceAll("Qapla'", 'success') }),
  hasOwnIdentity: true,
  hasBareNames: true,
  hookNames: { load: 'yIchu', unload: 'yIchuHa', updateConfig: 'yIchoH' },
  pythonFiles: ['klingon.py'],
  scaffold: {
    files: (id) => ({ 'klingon.ts': sourceOf(id), 'klingon.test.mjs': '' }),
    nextSteps: ({ id, test }) => [`${id} is tested by ${test}`],
  },
};

const sourceOf = (id: string) => `import { defineTool } from 'longshore/klingon';
  const parameters = { type: 'object', properties: { user_id: { type: 'string' } } } as const;
  const greet = defineTool({ id: 'greet', description: 'Greets', parameters, execute: async ({ user_id }) => \`Qapla', \${user_id}\` });
  export default { dialect: 'klingon', id: '${id}', tools: [greet], load() { throw new Error('no honour'); } };
`;

let bench: Workbench;
let plugin: Plugin;
let written: string;
const load = (name: string) => loadPlugins([`./${name}`], { directory: bench.directory, isolates: bench.isolates });
const problemsOf = async (name: string) => (await load(name)).problems.map(({ error }) => error.message);

beforeAll(async () => {
  (DIALECTS as PluginDialect[]).push(klingon);
  bench = await openWorkbench({ unresponsiveMs: 10_000 });
  written = (await runLine(undefined, ['plugins', 'new', 'klingon', 'worf', '--directory', bench.directory])).out;
  const { plugins, problems } = await load('worf');
  expect(problems).toEqual([]);
  plugin = plugins[0]!;
});
afterAll(() => bench[Symbol.asyncDispose]());

test('plugins new writes what its scaffold says', () => {
  const [file, check] = ['klingon.ts', 'klingon.test.mjs'].map((name) => join(bench.directory, 'worf', name));
  expect(written).toBe(`Wrote ${file}, ${check}.\nworf is tested by ${check}\n`);
});

test('its plugins are located, bundled with its module and its changes, and loaded by its loader', async () => {
  expect(plugin).toMatchObject({ id: 'worf', dialect: 'klingon', description: 'told by the loader' });
  expect(await run(plugin, 'greet', { user_id: 'martok' })).toBe('success, martok');
});

test('what it says about identities and names holds wherever its tools are offered', () => {
  const registry = createRegistry([plugin]);
  const tool = registry.get('worf:greet')!;
  expect(tool.accept({ user_id: 'martok' })).toEqual({ user_id: 'martok' });
  expect(describeTools([tool], registry)).toMatchObject([{ id: 'worf:greet', bare: true }]);
});

test('messages use its names', async () => {
  const parts = { environment: () => undefined, log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }) };
  expect(await problemOf(startInstance(plugin, { config: {}, configVersion: 1 }, parts))).toBe(
    'Plugin "worf": its yIchu failed (no honour). Correct it, or what it needs',
  );
  await runLine(undefined, ['plugins', 'new', 'klingon', 'lost', '--directory', bench.directory]);
  await writeFile(join(bench.directory, 'lost/klingon.ts'), "import 'longshore/romulan';");
  expect(await problemsOf('lost')).toEqual([
    expect.stringContaining('Import longshore/plugins, longshore/maibot, longshore/nekro or longshore/klingon') as string,
  ]);
  await mkdir(join(bench.directory, 'old'));
  await writeFile(join(bench.directory, 'old/klingon.py'), '');
  expect(await problemsOf('old')).toEqual([expect.stringContaining('(klingon.py)') as string]);
});

test('two of its plugins with a tool of one name are refused, since code calls both by that name', async () => {
  await runLine(undefined, ['plugins', 'new', 'klingon', 'kurn', '--directory', bench.directory]);
  const kurn = (await load('kurn')).plugins[0]!;
  const source = { agents: ['gowron'] };
  expect(collisionOfNames({ plugin: kurn, source }, [{ plugin, source }])?.message).toMatch(
    /^Plugin "kurn": its method "greet" has the same name as one of the plugin "worf", and agent "gowron" has both\./,
  );
});
