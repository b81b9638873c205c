import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin, Tool, ToolContext } from '../../src/plugins/api/define-plugin.ts';
import { maibot } from '../../src/plugins/dialects/maibot/dialect.ts';
import { ownSandboxIdOf } from '../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import { containerNameOf } from '../../src/sandbox/engine/labels.ts';
import type { WorkerHandle } from '../../src/sandbox/api/sandbox.ts';
import { compare, compareWithLimit, timed, type BenchmarkResult, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';
import { isHidden, memoryUnlessEndedMib } from '../process-memory.ts';

const PLUGIN = fileURLToPath(new URL('../../test/fixtures/plugins/maibot-hooks', import.meta.url));
/** Blocks of calls. */
const WARM_UP = 5;
const BLOCKS = 20;
const IN_BLOCK = 10;
const STARTS = 5;
const LOADED = 20;
/** As workers have it. */
const IDLE_MS = 15 * 60_000;
const GOAL_CALL_MS = 3;
const GOAL_START_MS = 1_500;
const GOAL_MIB = 40;

/**
 * A plugin that is written for MaiBot, in Python: a call in a sandbox that was found, against 3 ms and against a command that does nothing there; how the sandbox is
 * found, which comes before each of both; its start for a tenant that has not called it yet and after a stop; the memory of twenty that are loaded and do nothing,
 * which are all processes of their containers. Its packages are on this machine before it is measured.
 */
export async function measurePythonPlugins(parts: BenchParts): Promise<BenchmarkResult> {
  const { sandboxes, store, stack, log } = parts;
  const directory = join(stack.config.LONGSHORE_HOME, 'python');
  const { LONGSHORE_HOST_ID: hostId, LONGSHORE_SANDBOX_IMAGE: image } = stack.config;
  const given = { sandboxes, rows: store.sandboxes, timers: store.pluginTimers, hostId, image, directory, idleMs: IDLE_MS, log };
  try {
    const plugin = await maibot.loader?.load({ name: 'bench', root: PLUGIN, isTrusted: false, sandboxes: async () => given });
    if (!plugin) throw new Error('the plugin is not loaded');
    return [...(await measureCall(plugin)), ...(await measureStarts(parts, plugin)), ...(await measureMemory(parts, plugin))];
  } finally {
    const own = (await store.sandboxes.list({ hostId })).filter(({ sandboxId, state }) => sandboxId.startsWith('plugin-') && state !== 'destroyed');
    for (const { sandboxId } of own) await sandboxes.destroy(sandboxId);
  }
}

async function measureCall(plugin: Plugin): Promise<Measurement[]> {
  const tool = toolOf(plugin);
  let handle = await handleOf(tool, 'warm');
  const open = async () => void (handle = await handleOf(tool, 'warm'));
  const called: number[] = [];
  const opened: number[] = [];
  const ran: number[] = [];
  for (let block = 0; block < WARM_UP + BLOCKS; block++) {
    // In blocks, since the sandbox prepares the next command after each.
    const [calls, finds, runs] = [await timedOften(() => callIn(tool, async () => handle)), await timedOften(open), await timedOften(() => handle.run('true'))];
    if (block < WARM_UP) continue;
    called.push(...calls);
    opened.push(...finds);
    ran.push(...runs);
  }
  return [
    compareWithLimit({ name: 'python-plugin-call', unit: 'ms', limit: GOAL_CALL_MS }, called),
    compare({ name: 'python-plugin-call-true', goal: 1.5, unit: 'ms', baselineIs: 'a command that does nothing' }, { subject: called, baseline: ran }),
    compareWithLimit({ name: 'python-plugin-find', unit: 'ms', limit: GOAL_CALL_MS }, opened),
  ];
}

async function timedOften(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  while (times.length < IN_BLOCK) times.push(await timed(work));
  return times;
}

async function measureStarts({ sandboxes }: BenchParts, plugin: Plugin): Promise<Measurement[]> {
  const tool = toolOf(plugin);
  const [first, again, bare]: [number[], number[], number[]] = [[], [], []];
  for (let start = 0; start < STARTS; start++) {
    const tenant = `start-${start}`;
    first.push(await timed(() => call(tool, tenant)));
    await sandboxes.stop(ownSandboxIdOf(plugin.id, tenant));
    again.push(await timed(() => call(tool, tenant)));
    await sandboxes.stop(ownSandboxIdOf(plugin.id, tenant));
    bare.push(await timed(async () => (await handleOf(tool, tenant)).run('true')));
    await sandboxes.stop(ownSandboxIdOf(plugin.id, tenant));
  }
  return [
    compareWithLimit({ name: 'python-plugin-first', unit: 'ms', limit: GOAL_START_MS }, first),
    compareWithLimit({ name: 'python-plugin-start', unit: 'ms', limit: GOAL_START_MS }, again),
    compare(
      { name: 'python-plugin-start-bare', unit: 'ms', baselineIs: 'the start of the same sandbox without the plugin' },
      { subject: again, baseline: bare },
    ),
  ];
}

/** All of them run at the same time. */
async function measureMemory(parts: BenchParts, plugin: Plugin): Promise<Measurement[]> {
  const tool = toolOf(plugin);
  const tenants = Array.from({ length: LOADED }, (_, index) => `idle-${index}`);
  for (const tenant of tenants) await call(tool, tenant);
  try {
    const loaded = await Promise.all(tenants.map((tenant) => memoryOf(parts, ownSandboxIdOf(plugin.id, tenant))));
    for (const tenant of tenants) await parts.sandboxes.stop(ownSandboxIdOf(plugin.id, tenant));
    const asleep = await Promise.all(tenants.map((tenant) => memoryOf(parts, ownSandboxIdOf(plugin.id, tenant))));
    return [
      compareWithLimit(
        { name: 'python-plugin-memory', unit: 'MiB', limit: GOAL_MIB },
        loaded.map(({ plugin: size }) => size),
      ),
      compareWithLimit(
        { name: 'python-plugin-sandbox', unit: 'MiB', limit: GOAL_MIB },
        loaded.map(({ all }) => all),
      ),
      compare(
        { name: 'python-plugin-asleep', goal: 0, unit: 'MiB', baselineIs: 'the same while they run' },
        {
          subject: asleep.map(({ all }) => all),
          baseline: loaded.map(({ all }) => all),
        },
      ),
    ];
  } catch (error) {
    // The memory of other processes can be read by root, on the machine of the engine.
    if (isHidden(error)) return [];
    throw error;
  }
}

/** Of the process of the plugin, and of all processes of its container; nothing where that is stopped. */
async function memoryOf({ docker, stack }: BenchParts, sandboxId: string): Promise<{ plugin: number; all: number }> {
  const container = docker.getContainer(containerNameOf(stack.config.LONGSHORE_INSTALLATION, sandboxId));
  if (!(await container.inspect()).State.Running) return { plugin: 0, all: 0 };
  const { Processes: rows } = (await container.top({ ps_args: '-eo pid,args' })) as { Processes: string[][] };
  const sizes = await Promise.all(rows.map(async ([pid = '', command = '']) => ({ command, size: await memoryUnlessEndedMib(pid) })));
  const sum = (some: typeof sizes) => some.reduce((total, { size }) => total + size, 0);
  return { plugin: sum(sizes.filter(({ command }) => command.includes('maibot_host.py serve'))), all: sum(sizes) };
}

function toolOf({ tools }: Plugin): Tool {
  const tool = tools.find(({ id }) => id === 'echo');
  if (!tool) throw new Error('the plugin has no tool echo');
  return tool;
}

async function handleOf({ ownSandbox }: Tool, tenantId: string): Promise<WorkerHandle> {
  if (!ownSandbox) throw new Error('the plugin has no sandbox of its own');
  return (await ownSandbox.open(tenantId, false)).handle;
}

function call(tool: Tool, tenantId: string): Promise<void> {
  return callIn(tool, () => handleOf(tool, tenantId));
}

async function callIn(tool: Tool, open: () => Promise<WorkerHandle>): Promise<void> {
  const callServer: ToolContext['sandbox']['callServer'] = async (server, request, { timeoutMs } = {}) =>
    (await open()).callServer(server, request, timeoutMs === undefined ? {} : { timeoutMs });
  const context = { conversationId: 'conv_bench', userId: 'user', tenantId: 'bench', agentId: 'bench', callId: 'call_bench', sandbox: { callServer } };
  await tool.execute({ words: 'high' }, context as unknown as ToolContext);
}
