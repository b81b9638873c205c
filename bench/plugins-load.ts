import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { showOffer } from '../src/tool-calls/offer/offer-tools.ts';
import { defineAgent } from '../src/definitions/agents/define-agent.ts';
import { createToolsPlugin } from '../src/plugins/builtin/tools.ts';
import { openIsolates } from '../src/plugins/isolates/load-isolated.ts';
import { openPluginManager, type PluginManager } from '../src/plugins/manager/plugin-manager.ts';
import { createRegistry, type Registry } from '../src/plugins/registry/registry.ts';
import { compare, timed, type BenchmarkResult, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';
import { childrenOf, isHidden, proportionalSetSizeMib, treeOf } from './process-memory.ts';

const PLUGINS = 100;
const TOOLS = 10;
const ROUNDS = 3;
/** As the worker loads plugins. */
const AT_ONCE = 4;
const IDLE = 'setInterval(() => undefined, 1_000_000); process.stdout.write("up")';

/**
 * A worker's start with 100 fenced plugins of ten tools each against the start of as many bare Node processes, in time and memory; and what a model is shown of the
 * 1,000 tools with deferral against without.
 */
export async function measurePluginsLoad({ store, log }: BenchParts): Promise<BenchmarkResult> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-bench-plugins-'));
  const names = await writePlugins(directory);
  const times = { subject: [] as number[], baseline: [] as number[] };
  const memory = { subject: [] as number[], baseline: [] as number[] };
  let prompts: Measurement[] = [];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const before = process.memoryUsage().rss;
      await using isolates = await openIsolates({ log });
      let manager: PluginManager | undefined;
      const builtins = (registry: Registry) => [createToolsPlugin(async () => registry.tools)];
      const sources = names.map((name) => ({ name, pins: [], agents: ['bench'] }));
      const parts = { store: store.plugins, hostId: 'bench', hostPlugins: [], environment: () => undefined, isolates, log };
      times.subject.push(await timed(async () => (manager = await openPluginManager({ ...parts, sources, directory, builtins }))));
      if (!manager) throw new Error('no plugins were loaded');
      memory.subject.push((await memoryOf(await processesOfPlugins())) + (process.memoryUsage().rss - before) / 2 ** 20);
      prompts = measurePrompts(manager.registry, names);
      await manager[Symbol.asyncDispose]();
      const bare: ChildProcess[] = [];
      times.baseline.push(await timed(async () => void bare.push(...(await startNodes(PLUGINS)))));
      memory.baseline.push(await memoryOf(bare.map(({ pid }) => String(pid))));
      await Promise.all(bare.map(end));
    }
  } catch (error) {
    if (isHidden(error)) return { skipped: 'the memory of other processes can be read by root, on Linux' };
    throw error;
  } finally {
    await rm(directory, { recursive: true });
  }
  return [
    compare({ name: 'plugins-load', goal: 5, unit: 'ms', baselineIs: `${PLUGINS} starts of node, ${AT_ONCE} at a time` }, times),
    compare({ name: 'plugins-memory', goal: 2, unit: 'MiB', baselineIs: `${PLUGINS} idle node processes` }, memory),
    ...prompts,
  ];
}

/** What the model is given besides the transcript, in bytes. Plugins with a brief of their own are one line each. */
function measurePrompts(registry: Registry, names: string[]): Measurement[] {
  const plugins = [...new Set(registry.tools.map(({ pluginId }) => pluginId))].flatMap((id) => registry.plugin(id) ?? []);
  const asleep = createRegistry(plugins.map((plugin) => (plugin.source === undefined ? plugin : { ...plugin, brief: plugin.description })));
  const agent = defineAgent({ id: 'bench', model: 'openai/none', plugins: names, tools: ['*'] });
  const bytesOf = (among: Registry, over: number): number => {
    const offer = { agent: { ...agent, deferTools: { ...agent.deferTools, over } }, available: among.tools, texts: [] };
    return Buffer.byteLength(JSON.stringify(showOffer(offer, among, [])));
  };
  const baseline = [bytesOf(registry, PLUGINS * TOOLS + 1)];
  const against = (name: string, goal: number, among: Registry) =>
    compare({ name, goal, unit: 'bytes', baselineIs: 'all tools shown whole' }, { subject: [bytesOf(among, agent.deferTools.over)], baseline });
  return [against('plugins-prompt', 0.1, registry), against('plugins-prompt-brief', 0.02, asleep)];
}

/** Plugins as people write them: TypeScript, with tools of three parameters. */
async function writePlugins(directory: string): Promise<string[]> {
  const names = Array.from({ length: PLUGINS }, (_, index) => `./register-${index}`);
  for (const [index, name] of names.entries()) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'index.ts'), sourceOf(index));
  }
  return names;
}

function sourceOf(index: number): string {
  const tools = Array.from(
    { length: TOOLS },
    (_, berth) => `defineTool({
      id: 'berth-${berth}',
      description: 'Ships at berth ${berth} of harbour ${index}.\\nGives name, cargo, draught and owner of each ship that fits, those that arrived last first.',
      parameters: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'Part of the name of a ship, or its number in the register' },
          limit: { type: 'integer', minimum: 1, maximum: 50, default: 5, description: 'How many ships to give at most' },
          order: { enum: ['name', 'arrival', 'draught'], description: 'By what they are put in order' },
        },
        required: ['query'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true },
      execute: async ({ query }) => ({ found: [query as string] }),
    })`,
  );
  return `import { definePlugin, defineTool } from 'longshore/plugins';
    export default definePlugin({ id: 'register-${index}', version: '1.0.0', description: 'Ships of harbour ${index}', tools: [${tools.join(',\n')}] });`;
}

async function startNodes(count: number): Promise<ChildProcess[]> {
  const started: ChildProcess[] = [];
  let left = count;
  const work = async () => {
    for (; left > 0;) {
      left -= 1;
      const child = spawn(process.execPath, ['-e', IDLE], { stdio: ['ignore', 'pipe', 'ignore'], env: {} });
      started.push(child);
      await once(child.stdout, 'data');
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return started;
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

async function memoryOf(pids: string[]): Promise<number> {
  const sizes = await Promise.all(pids.map(proportionalSetSizeMib));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Ids of the processes that plugins run in and of their launchers, which are children of this one, as the bundler is. */
async function processesOfPlugins(): Promise<string[]> {
  const children = await childrenOf(process.pid);
  const commands = await Promise.all(children.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  const launched = children.filter((_, index) => commands[index]?.includes('guest.cjs'));
  return (await Promise.all(launched.map(treeOf))).flat();
}
