import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogger } from '../../../src/platform/log.ts';
import { openIsolates, type Isolates } from '../../../src/plugins/isolates/load-isolated.ts';
import type { PluginManager } from '../../../src/plugins/manager/plugin-manager.ts';
import { watchPlugins } from '../../../src/plugins/manager/watch-plugins.ts';
import { until } from '../../e2e/support.ts';
import { call, openManagerBench, sourceOf, type Workbench } from './manager-workbench.ts';

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });
let isolates: Isolates;
let bench: Workbench;
beforeAll(async () => {
  isolates = await openIsolates({ log });
});
afterAll(() => isolates[Symbol.asyncDispose]());
beforeEach(async () => {
  bench = await openManagerBench(isolates);
});
afterEach(() => bench[Symbol.asyncDispose]());

const says = (id: string, text: string) => sourceOf(id, `return '${text}';`);
const at = (path: string) => join(bench.directory, path);
const problemOf = (name: string) => bench.states.written.get(name)?.error;
const untilSays = (manager: PluginManager, id: string, text: string) =>
  until(async () => (await call(manager, `${id}:run`).catch(() => undefined)) === text, `${id} says ${text}`);
const watching = (manager: PluginManager, names: string[]) => watchPlugins({ names, directory: bench.directory, plugins: manager, log, quietMs: 20 });

test('a watched directory is loaded again whatever an editor does to its files, and a broken edit leaves the old version at work', async () => {
  await bench.write('p/index.ts', says('p', 'old'));
  const manager = await bench.open(['./p']);
  await using _watch = await watching(manager, ['./p']);
  await bench.write('p/index.ts', says('p', 'written'));
  await untilSays(manager, 'p', 'written');
  for (const text of ['renamed', 'renamed again']) {
    await bench.write('p/.index.ts.swp', says('p', text));
    await rename(at('p/.index.ts.swp'), at('p/index.ts'));
    await untilSays(manager, 'p', text);
  }
  await bench.write('p/lib/deep/word.ts', `export const word = 'deep';`);
  await bench.write('p/index.ts', `import { word } from './lib/deep/word.ts';\n${sourceOf('p', 'return word;')}`);
  await untilSays(manager, 'p', 'deep');
  await bench.write('p/lib/deep/word.ts', `export const word = 'deeper';`);
  await untilSays(manager, 'p', 'deeper');
  await bench.write('p/index.ts', 'export default {');
  await until(async () => problemOf('./p')?.includes('index.ts:1') === true, 'the broken edit is told');
  expect(await call(manager, 'p:run')).toBe('deeper');
  await bench.write('p/index.ts', says('p', 'mended'));
  await untilSays(manager, 'p', 'mended');
  expect(problemOf('./p')).toBeUndefined();
});

test('a plugin whose directory goes stays at work, and one that comes, comes back or is replaced is loaded', async () => {
  const installed = 'node_modules/@acme/tool';
  await bench.write('p/index.ts', says('p', 'old'));
  await bench.write(`${installed}/index.ts`, says('tool', 'version 1'));
  const names = ['./p', '@acme/tool', './later/on/q', 'not-yet'];
  const manager = await bench.open(names);
  await using _watch = await watching(manager, names);
  await rm(at('p'), { recursive: true });
  await until(async () => problemOf('./p')?.includes('there is no directory') === true, 'it is told');
  expect(await call(manager, 'p:run')).toBe('old');
  await bench.write('p/index.ts', says('p', 'back'));
  await bench.write('later/on/q/index.ts', says('q', 'late'));
  await bench.write('node_modules/not-yet/index.ts', says('not-yet', 'installed'));
  // As npm does it.
  await bench.write('node_modules/.tool-x/index.ts', says('tool', 'version 2'));
  await rename(at(installed), at('node_modules/@acme/.tool-y'));
  await rename(at('node_modules/.tool-x'), at(installed));
  await untilSays(manager, 'p', 'back');
  await untilSays(manager, 'q', 'late');
  await untilSays(manager, 'not-yet', 'installed');
  await untilSays(manager, 'tool', 'version 2');
  await bench.write(`${installed}/index.ts`, says('tool', 'version 3'));
  await untilSays(manager, 'tool', 'version 3');
});
