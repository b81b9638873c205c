import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { IsolatesHealth } from '../plugins/isolates/isolate-health.ts';
import type { BackupTotals } from '../store/blobs/backups.ts';
import type { HostDisk } from '../store/service/fleet.ts';
import type { Store } from '../store/store.ts';

/** How an attempt at a tool call ended; `thrown`: it is retried, or was cancelled. */
export type CallOutcome = 'finished' | 'failed' | 'detached' | 'suspended' | 'interrupted' | 'unknown' | 'thrown';

/** Receives figures of a worker as events happen. */
export interface CallMetrics {
  /** `tool` is a tool that the worker knows, so that there are few different values. */
  toolCall(tool: string, outcome: CallOutcome, seconds: number): void;
}

export interface WorkerMetrics extends CallMetrics {
  readonly contentType: string;
  /** The metrics in the format of Prometheus. The figures of sandboxes are read from Postgres. */
  render(): Promise<string>;
}

const SECONDS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000];
/** The disk of a host that has said nothing for so long is not told: there may be none. */
const TOLD_MS = 300_000;
const BY = ['state', 'template'] as const;

export interface MetricsParts {
  store: Pick<Store, 'samples' | 'backups' | 'fleet'> & { conversations: Pick<Store['conversations'], 'totalBytes'> };
  /** The state of the plugins; absent when none runs in an isolated process. */
  plugins?: (() => IsolatesHealth) | undefined;
}

export function createWorkerMetrics({ store, plugins }: MetricsParts): WorkerMetrics {
  const registry = new Registry();
  const labelNames = ['tool', 'outcome'] as const;
  const calls = new Counter({ name: 'longshore_tool_calls_total', help: 'Attempts at tool calls in this worker', labelNames, registers: [registry] });
  const times = new Histogram({
    name: 'longshore_tool_call_seconds',
    help: 'Length of attempts at tool calls in this worker',
    labelNames: ['tool'] as const,
    buckets: SECONDS,
    registers: [registry],
  });
  const gauge = (name: string, help: string) => new Gauge({ name: `longshore_sandbox${name}`, help, labelNames: BY, registers: [registry] });
  const gauges = {
    sandboxes: gauge('es', 'Sandboxes of all hosts; warm ones wait for a conversation'),
    cpus: gauge('_cpus', 'Processors that sandboxes use'),
    memoryBytes: gauge('_memory_bytes', 'Memory that running sandboxes use'),
    diskBytes: gauge('_disk_bytes', 'Files of running, hibernated and stopped sandboxes, and the memory of hibernated ones on disk'),
    processes: gauge('_processes', 'Processes and threads in running sandboxes'),
  };
  const stored = new Gauge({
    name: 'longshore_stored_bytes',
    help: 'What transcripts, calls and events of conversations take up in Postgres',
    registers: [registry],
  });
  const tellBackups = createBackupGauges(registry);
  const tellDisks = createDiskGauges(registry);
  const tellPlugins = plugins && createPluginGauges(registry);
  return {
    contentType: registry.contentType,
    toolCall(tool, outcome, seconds) {
      calls.inc({ tool, outcome });
      times.observe({ tool }, seconds);
    },
    async render() {
      const totals = await store.samples.totals();
      for (const [name, each] of Object.entries(gauges)) {
        // Removes states and templates that no longer occur.
        each.reset();
        for (const total of totals) each.set({ state: total.state, template: total.template }, total[name as keyof typeof gauges]);
      }
      stored.set(await store.conversations.totalBytes());
      tellBackups(await store.backups.totals());
      tellDisks(await store.fleet.disks(TOLD_MS));
      if (plugins) tellPlugins?.(plugins());
      return await registry.metrics();
    },
  };
}

function createBackupGauges(registry: Registry): (totals: BackupTotals) => void {
  const gauge = (name: string, help: string) => new Gauge({ name: `longshore_${name}`, help, registers: [registry] });
  const gauges: Record<keyof BackupTotals, Gauge> = {
    backups: gauge('backups', 'Sandboxes that have a backup'),
    bytes: gauge('backup_bytes', 'What the backups take up in the blob store'),
    due: gauge('backups_due', 'Sandboxes with files of a turn that are not backed up yet'),
    failing: gauge('backups_failing', 'Those of them whose last try failed'),
    oldestSeconds: gauge('backup_oldest_seconds', 'How long ago the files of the one that has waited for the longest were found backed up'),
  };
  return (totals) => {
    for (const name of Object.keys(gauges) as (keyof BackupTotals)[]) gauges[name].set(totals[name]);
  };
}

/** Hosts whose disk is not known, or that were removed, have none. */
function createDiskGauges(registry: Registry): (disks: ({ hostId: string } & HostDisk)[]) => void {
  const gauge = (name: string, help: string) => new Gauge({ name: `longshore_host_disk_${name}`, help, labelNames: ['host'] as const, registers: [registry] });
  const free = gauge('free_bytes', 'What is free on the disk of the engine of a host');
  const total = gauge('total_bytes', 'What that disk has');
  const short = gauge('short', '1 while the host takes no new sandboxes because it has too little disk');
  return (disks) => {
    for (const each of [free, total, short]) each.reset();
    for (const { hostId: host, freeBytes, totalBytes, isShort } of disks) {
      free.set({ host }, freeBytes);
      total.set({ host }, totalBytes);
      short.set({ host }, isShort ? 1 : 0);
    }
  };
}

/** Sets the state of the plugins anew, so that plugins that no longer exist are removed. */
function createPluginGauges(registry: Registry): (health: IsolatesHealth) => void {
  const registers = [registry];
  const fence = new Gauge({
    name: 'longshore_plugin_fence',
    help: 'Level of the isolation of plugins on this host',
    labelNames: ['level'] as const,
    registers,
  });
  const states = new Gauge({
    name: 'longshore_plugin_state',
    help: 'Plugins of this worker that run in isolated processes',
    labelNames: ['plugin', 'state'] as const,
    registers,
  });
  const restarts = new Counter({
    name: 'longshore_plugin_restarts_total',
    help: 'Processes that replaced one that had ended',
    labelNames: ['plugin'] as const,
    registers,
  });
  return ({ level, plugins }) => {
    for (const metric of [fence, states, restarts]) metric.reset();
    fence.set({ level }, 1);
    for (const { plugin, state, restarts: times } of plugins) {
      states.inc({ plugin, state });
      restarts.inc({ plugin }, times);
    }
  };
}
