import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { measured } from '../../src/tool-calls/run/measured.ts';
import type { ExecuteToolArgs, ExecuteToolResult } from '../../src/contracts/activities.ts';
import { sampleSandboxes } from '../../src/metrics/sample-sandboxes.ts';
import { serveMetrics } from '../../src/metrics/serve-metrics.ts';
import { createWorkerMetrics } from '../../src/metrics/worker-metrics.ts';
import type { IsolatesHealth } from '../../src/plugins/isolates/isolate-health.ts';
import { checkpointSize } from '../../src/sandbox/engine/checkpoint-size.ts';
import { createTestSandboxes, type TestSandboxes } from '../sandbox/lifecycle/support.ts';

const log = pino({ level: 'silent' });
let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => {
  await parts[Symbol.asyncDispose]();
});

test('a running sandbox is measured: memory, processors, processes and files, once for all workers of its host', async () => {
  const { sandboxes, store } = parts;
  const { samples } = store;
  const owner = parts.newOwner();
  const { handle } = await sandboxes.open(owner, { template: 'python' });
  await handle.run('head -c 20M /dev/urandom > big; for i in 1 2 3; do sleep 600 & done; sync');
  await handle.start('while :; do :; done');
  await sampleSandboxes(parts, { disk: true, apartMs: 0 });
  const first = await samples.newest(owner.sandboxId);
  expect(first).not.toHaveProperty('cpus');
  expect(first?.diskBytes).toBeGreaterThan(20 * 1024 * 1024);
  expect(first?.memoryBytes).toBeGreaterThan(1024 * 1024);
  await handle.run('for i in $(seq 200000); do :; done', { timeoutMs: 0 });
  await sampleSandboxes(parts, { disk: false, apartMs: 60_000 });
  expect(await samples.newest(owner.sandboxId)).toEqual(first);
  await sampleSandboxes(parts, { disk: false, apartMs: 0 });
  const second = await samples.newest(owner.sandboxId);
  expect(second).toMatchObject({ diskBytes: first?.diskBytes, cpus: expect.any(Number) as number });
  expect(second?.cpus).toBeGreaterThan(0);
  expect(second?.processes).toBeGreaterThan(2);

  const rendered = await createWorkerMetrics({ store }).render();
  expect(rendered).toContain('longshore_sandboxes{state="running",template="python"} 1\n');
  expect(rendered).toMatch(/^longshore_sandbox_memory_bytes\{state="running",template="python"\} \d{7,}$/m);
  expect(rendered).not.toContain(owner.sandboxId);

  await sandboxes.freeze(owner.sandboxId);
  await sandboxes.wake(owner.sandboxId);
  const times = await samples.stateTimes(owner.sandboxId);
  expect(Object.keys(times).toSorted()).toEqual(['creating', 'frozen', 'running']);
  expect(times.running).toBeGreaterThan(0);
});

test('a sandbox that rests counts with what it has on disk, and its samples do not pile up', async () => {
  const { sandboxes, store } = parts;
  const owner = parts.newOwner();
  const { handle } = await sandboxes.open(owner, { template: 'resting' });
  await handle.run('head -c 20M /dev/urandom > big; sync');
  await sampleSandboxes(parts, { disk: true, apartMs: 0 });
  await sandboxes.stop(owner.sandboxId);
  const disk = async () =>
    /^longshore_sandbox_disk_bytes\{state="stopped",template="resting"\} (\d+)$/m.exec(await createWorkerMetrics({ store }).render())?.[1];
  expect(await disk()).toBe('0');
  await sampleSandboxes(parts, { disk: true, apartMs: 0 });
  const first = await store.samples.newest(owner.sandboxId);
  expect(first).toMatchObject({ memoryBytes: 0, processes: 0 });
  expect(first?.diskBytes).toBeGreaterThan(20 * 1024 * 1024);
  expect(await disk()).toBe(String(first?.diskBytes));
  await sampleSandboxes(parts, { disk: true, apartMs: 0 });
  expect(await store.samples.newest(owner.sandboxId)).toEqual(first);

  await sandboxes.wake(owner.sandboxId);
  await sampleSandboxes(parts, { disk: false, apartMs: 0 });
  const woken = await store.samples.newest(owner.sandboxId);
  expect(woken?.memoryBytes).toBeGreaterThan(0);
  expect(woken).not.toHaveProperty('cpus');
});

test('checkpoints count with all that is below their directory, where it can be read', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-engine-'));
  try {
    const checkpoints = join(directory, 'containers/c0ffee/checkpoints');
    for (const name of ['rest-3', 'rest-3.pages']) await mkdir(join(checkpoints, name), { recursive: true });
    await writeFile(join(checkpoints, 'rest-3/checkpoint.img'), Buffer.alloc(100_000, 1));
    await writeFile(join(checkpoints, 'rest-3.pages/pages.img'), Buffer.alloc(1_000_000, 1));
    await symlink('../rest-3.pages/pages.img', join(checkpoints, 'rest-3/pages.img'));
    const size = await checkpointSize(directory, 'c0ffee');
    expect(size).toBeGreaterThanOrEqual(1_100_000);
    expect(size).toBeLessThan(1_200_000);
    expect(await checkpointSize(directory, 'none')).toBeUndefined();
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('attempts at tool calls are counted by tool and outcome; unknown tools share one name', async () => {
  const metrics = createWorkerMetrics({ store: parts.store });
  const registry = { get: (tool: string) => (tool === 'shell:run' ? ({ id: tool } as never) : undefined) };
  const attempt = async (tool: string, end: Partial<ExecuteToolResult> | Error) => {
    const execute = measured(async () => (end instanceof Error ? Promise.reject(end) : (end as ExecuteToolResult)), { metrics, registry });
    await execute({ tool } as ExecuteToolArgs).catch(() => undefined);
  };
  await attempt('shell:run', { outcome: 'finished', isError: false });
  await attempt('shell:run', { outcome: 'finished', isError: true });
  await attempt('shell:run', new Error('away'));
  await attempt('made:up', { outcome: 'unknown', why: '' });
  const rendered = await metrics.render();
  const counted = rendered.split('\n').filter((line) => line.startsWith('longshore_tool_calls_total{'));
  expect(counted.toSorted()).toEqual([
    'longshore_tool_calls_total{tool="shell:run",outcome="failed"} 1',
    'longshore_tool_calls_total{tool="shell:run",outcome="finished"} 1',
    'longshore_tool_calls_total{tool="shell:run",outcome="thrown"} 1',
    'longshore_tool_calls_total{tool="unknown",outcome="unknown"} 1',
  ]);
  expect(rendered).toContain('longshore_tool_call_seconds_count{tool="shell:run"} 3\n');
});

test('the fence and the plugins behind it are told, by the name of the plugin and its state', async () => {
  let plugins: IsolatesHealth['plugins'] = [{ plugin: 'notes', state: 'running', restarts: 2 }];
  const health = (): IsolatesHealth => ({ level: 'B', fence: 'level B (…)', plugins });
  const metrics = createWorkerMetrics({ store: parts.store, plugins: health });
  const lines = async () => (await metrics.render()).split('\n').filter((line) => line.startsWith('longshore_plugin'));
  const told = [
    'longshore_plugin_fence{level="B"} 1',
    'longshore_plugin_state{plugin="notes",state="running"} 1',
    'longshore_plugin_restarts_total{plugin="notes"} 2',
  ];
  expect([await lines(), await lines()]).toEqual([told, told]);
  await using served = await serveMetrics({ address: '127.0.0.1:0', metrics, store: { ping: async () => true }, plugins: health, log });
  const report = async () => (await fetch(`${served.url}/health`)).json();
  expect(await report()).toEqual({ postgres: 'ok', plugins: health() });
  plugins = [{ plugin: 'notes', state: 'left-alone', restarts: 4 }];
  expect((await lines())[1]).toBe('longshore_plugin_state{plugin="notes",state="left-alone"} 1');
  expect(await report()).toMatchObject({ plugins: { plugins: [{ state: 'left-alone' }] } });
});

test('the disks of hosts are told, those that are known', async () => {
  const disk = { freeBytes: 10, totalBytes: 100, againBytes: 20, isShort: true };
  for (const host of ['told', 'silent-about-it']) await parts.store.hosts.beat(host, 60_000);
  await parts.store.fleet.describe('told', { version: '1', runtimes: [], disk });
  await parts.store.fleet.describe('silent-about-it', { version: '1', runtimes: [] });
  const rendered = (await createWorkerMetrics(parts).render()).split('\n').filter((line) => line.startsWith('longshore_host_disk'));
  expect(rendered).toEqual(['free_bytes{host="told"} 10', 'total_bytes{host="told"} 100', 'short{host="told"} 1'].map((end) => `longshore_host_disk_${end}`));
});

test('metrics and health are served while Postgres answers, and say so when it does not', async () => {
  const metrics = createWorkerMetrics(parts);
  let here = true;
  const store = { ping: async () => here };
  await using served = await serveMetrics({ address: '127.0.0.1:0', metrics, store, log });
  const get = async (path: string) => {
    const response = await fetch(served.url + path);
    return [response.status, await response.text()] as const;
  };
  expect(await get('/healthz')).toEqual([200, 'ok\n']);
  expect((await get('/metrics'))[1]).toContain('# TYPE longshore_tool_calls_total counter\n');
  here = false;
  expect(await get('/healthz')).toEqual([503, 'Postgres does not answer\n']);
  expect(await get('/health')).toEqual([503, '{"postgres":"away"}\n']);
  expect((await get('/other'))[0]).toBe(404);
  const taken = serveMetrics({ address: new URL(served.url).host, metrics, store, log });
  await expect(taken).rejects.toThrow(/^LONGSHORE_METRICS_ADDRESS: listen EADDRINUSE.*\. Choose a free port of this machine$/);
});
