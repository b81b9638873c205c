import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { createLogger } from '../src/platform/log.ts';
import type { ToolContext } from '../src/plugins/api/define-plugin.ts';
import { bundlePlugin } from '../src/plugins/isolates/bundle-plugin.ts';
import { openIsolates } from '../src/plugins/isolates/load-isolated.ts';
import { compare, compareWithLimit, percentile, timed, type Measurement } from './measure.ts';
import { measurePluginReplace } from './plugin-replace.ts';

const WARM_UP = 2_000;
const BLOCKS = 10;
const BLOCK = 500;
const STARTS = 15;
const INPUT = { a: 1, text: 'x'.repeat(1_000) };
const GOAL_P50_MS = 0.1;
const GOAL_P99_MS = 1;
const GOAL_START_MS = 60;

/** Which processors two processes are put on weighs more than what they do, and weighs alike on the plugin's and on the bare one. */
const [PLUGIN, THREAD, PROCESS] = [adder('plugin'), adder('thread'), adder('process')];

/** A call into a plugin's fenced process against the same call to a worker thread, to a bare process over pipes and to a function, its start against that of a bare Node process, and its replacement. */
export async function measurePluginCall(): Promise<Measurement[]> {
  await using isolates = await openIsolates({ log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
  const bundle = await bundlePlugin('adder', { entry: PLUGIN });
  const plugin = await isolates.load({ name: 'adder', ...bundle });
  const thread = new Worker(THREAD);
  const echo = spawn(process.execPath, [PROCESS], { stdio: ['pipe', 'pipe', 'ignore'] });
  const context = fakeContext();
  const calls = {
    compartment: () => plugin.tools[0]?.execute(INPUT, context) ?? Promise.reject(new Error('no tool')),
    thread: () => askThread(thread),
    pipe: () => askPipe(echo.stdin, echo.stdout),
    bare: async () => ({ sum: INPUT.a + INPUT.text.length }),
  };
  const samples = await takeTurns(calls);
  await thread.terminate();
  echo.kill();
  const starts = { subject: [] as number[], baseline: [] as number[] };
  for (let start = 0; start < STARTS; start++) {
    starts.subject.push(await timed(() => isolates.load({ name: 'adder', ...bundle })));
    starts.baseline.push(await timed(startNode));
  }
  const p99 = percentile(samples.compartment, 99);
  const [p50, p95] = [percentile(samples.compartment, 50), percentile(samples.compartment, 95)];
  return [
    compareWithLimit({ name: 'plugin-call', limit: GOAL_P50_MS, unit: 'ms' }, samples.compartment),
    compare({ name: 'plugin-call-pipe', unit: 'ms', baselineIs: 'a bare process over pipes' }, { subject: samples.compartment, baseline: samples.pipe }),
    compare({ name: 'plugin-call-thread', unit: 'ms', baselineIs: 'a worker thread' }, { subject: samples.compartment, baseline: samples.thread }),
    compare({ name: 'plugin-call-bare', unit: 'ms', baselineIs: 'a bare function' }, { subject: samples.compartment, baseline: samples.bare }),
    { name: 'plugin-call-p99', ratio: p99 / GOAL_P99_MS, goal: 1, p50, p95, unit: 'ms', baseline: { what: 'a p99 of', p50: GOAL_P99_MS, p95: GOAL_P99_MS } },
    compareWithLimit({ name: 'plugin-start', limit: GOAL_START_MS, unit: 'ms' }, starts.subject),
    compare({ name: 'plugin-start-node', unit: 'ms', baselineIs: 'the start of node' }, starts),
    await measurePluginReplace(context),
  ];
}

async function takeTurns<Name extends string>(calls: Record<Name, () => Promise<unknown>>): Promise<Record<Name, number[]>> {
  const all = Object.entries(calls) as [Name, () => Promise<unknown>][];
  const samples = Object.fromEntries(all.map(([name]) => [name, []])) as unknown as Record<Name, number[]>;
  for (const [, call] of all) for (let round = 0; round < WARM_UP; round++) await call();
  for (let block = 0; block < BLOCKS; block++) {
    for (const [name, call] of all) for (let round = 0; round < BLOCK; round++) samples[name].push(await timed(call));
  }
  return samples;
}

async function askThread(thread: Worker): Promise<unknown> {
  const answer = once(thread, 'message');
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  thread.postMessage({ id: 1, input: INPUT });
  return (await answer)[0];
}

async function askPipe(to: Writable, from: Readable): Promise<unknown> {
  const answer = once(from, 'data') as Promise<[Buffer]>;
  to.write(JSON.stringify({ id: 1, input: INPUT }));
  return JSON.parse(String((await answer)[0])) as unknown;
}

function adder(kind: 'plugin' | 'thread' | 'process'): string {
  return fileURLToPath(new URL(`programs/adder-${kind}.js`, import.meta.url));
}

async function startNode(): Promise<void> {
  const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore', env: {} });
  await once(child, 'exit');
}

/** Nothing of it is looked at but the logger, by the plugin that floods it. */
function fakeContext(): ToolContext {
  const ids = { conversationId: 'conv_bench', userId: 'user', tenantId: 'bench', agentId: 'bench', turnId: 'turn_1', callId: 'call_1' };
  const logger = { info: () => undefined, warn: () => undefined };
  return { ...ids, signal: new AbortController().signal, env: {}, config: {}, logger } as unknown as ToolContext;
}
