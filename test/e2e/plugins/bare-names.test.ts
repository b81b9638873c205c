import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installAgents, resultsOf, until, type Installation, type ScriptedAgent } from '../support.ts';

/** The Nekro plugins of an agent, of which two have a method `moor`, and a third one comes to have it. */
const NAMES = ['quay', 'berth', 'crane'];

let directory: string;
let installation: Installation;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-e2e-bare-names-'));
  for (const [name, method] of [
    ['quay', 'moor'],
    ['berth', 'moor'],
    ['crane', 'lift'],
    ['buoy', 'moor'],
  ] as const) {
    await write(name, method, '1');
  }
  const agent = (names: string[], tools: string[], calls: string[]): ScriptedAgent => ({
    plugins: names.map((name) => join(directory, name)),
    tools,
    steps: [...calls.map((call) => ({ call })), { say: 'Done.' }],
  });
  installation = await installAgents({
    harbour: agent(NAMES, ['berth:*', 'crane:*'], ['berth:moor', 'crane:lift']),
    outside: agent(['buoy'], ['buoy:*'], ['buoy:moor']),
  });
  installation.environment['LONGSHORE_WATCH'] = 'yes';
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

async function write(name: string, method: string, version: string): Promise<void> {
  await mkdir(join(directory, name), { recursive: true });
  await writeFile(
    join(directory, name, 'index.ts'),
    `import { NekroPlugin, SandboxMethodType } from 'longshore/nekro';
     const plugin = new NekroPlugin({ name: '${name}', moduleName: '${name}', description: '', version: '${version}', author: 'me', visibility: 'visible' });
     /** Works. */
     plugin.mountSandboxMethod(SandboxMethodType.TOOL, 'Work')(async function ${method}(ctx) { return '${name}'; });
     export default plugin;`,
  );
}

const reportOf = async (plugin: string) => (await installation.longshore.plugins.get(plugin)).reports[0];
const collision = (plugin: string, other: string) =>
  `Plugin "${plugin}": its method "moor" has the same name as one of the plugin "${other}", and agent "harbour"`;

async function answersOf(agent: string): Promise<unknown[]> {
  const chat = await installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });
  expect(await chat.reply()).toBe('Done.');
  const results = await resultsOf(chat);
  await chat.close();
  return results;
}

test('of two plugins of an agent with a method of one name a worker loads the one whose id comes first, and all others', async () => {
  expect(await reportOf('quay')).toMatchObject({ health: 'failed', tools: ['moor'], error: expect.stringContaining(collision('quay', 'berth')) as string });
  for (const name of ['berth', 'crane', 'buoy']) expect(await reportOf(name)).toMatchObject({ health: 'loaded' });
  expect(await answersOf('harbour')).toEqual([
    { text: 'berth', isError: false },
    { text: 'crane', isError: false },
  ]);
  expect(await answersOf('outside')).toEqual([{ text: 'buoy', isError: false }]);
});

test('an edit that gives a plugin the name of a method of another is refused, and its old version works on', async () => {
  await write('crane', 'moor', '2');
  await until(async () => (await reportOf('crane'))?.error !== undefined, 'the worker has read the new version');
  expect(await reportOf('crane')).toMatchObject({
    health: 'loaded',
    version: '1',
    tools: ['lift'],
    error: expect.stringContaining(collision('crane', 'berth')) as string,
  });
  expect(await answersOf('harbour')).toEqual([
    { text: 'berth', isError: false },
    { text: 'crane', isError: false },
  ]);
});

test('the plugin that was refused is loaded once the other one is disabled', async () => {
  await installation.longshore.plugins.enable('berth', false);
  // Of the two that wait for the name.
  await until(async () => (await reportOf('crane'))?.version === '2', 'the new version is loaded');
  expect(await reportOf('quay')).toMatchObject({ health: 'failed', error: expect.stringContaining(collision('quay', 'crane')) as string });
});
