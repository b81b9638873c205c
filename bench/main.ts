import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { startTemporaryStack } from '../scripts/temporary-stack.ts';
import { measureBackups } from './backups/backup.ts';
import { measureCheckpoints } from './checkpoints.ts';
import { measureCommandExec } from './command-exec.ts';
import { measureFileTransfer } from './file-transfer.ts';
import { measureForkChain } from './forks/chain.ts';
import { measureForkFiles } from './forks/files.ts';
import { measureFreezeThaw } from './freeze-thaw.ts';
import { measureHistoryBytes } from './history-bytes.ts';
import { measureHttpService } from './http/messages.ts';
import { measureHttpStreams } from './http/streams.ts';
import { measureIdleMemory } from './idle-memory.ts';
import { machineFacts } from './machine-facts.ts';
import type { BenchmarkResult, Measurement } from './measure.ts';
import { measureMethods } from './methods.ts';
import { measureOpenaiAgents } from './openai-agents.ts';
import { measureCachedConversations } from './many/cached-conversations.ts';
import { measureIdleConversations } from './many/idle-conversations.ts';
import { measureLongConversation } from './many/long-conversation.ts';
import { measureOpenConversations } from './many/open-conversations.ts';
import { measureOutputFlood } from './output-flood.ts';
import { openParts, type BenchParts } from './parts.ts';
import { measurePluginCall } from './plugin-call.ts';
import { measurePluginsLoad } from './plugins-load.ts';
import { measureRecovery } from './many/recovery.ts';
import { measurePythonPlugins } from './plugins/python-plugins.ts';
import { measureSandboxReady } from './sandbox-ready.ts';
import { measureServerRequest } from './servers/server-request.ts';
import { measureStoredRows } from './many/stored-rows.ts';
import { measureToolStep } from './tool-step.ts';
import { measureWake } from './wake.ts';
import { measureWarmClaim } from './warm-claim.ts';

const BENCHMARKS: Record<string, (parts: BenchParts) => Promise<BenchmarkResult>> = {
  'command-exec': measureCommandExec,
  'tool-step': measureToolStep,
  'history-bytes': measureHistoryBytes,
  'sandbox-ready': measureSandboxReady,
  'plugin-call': measurePluginCall,
  'plugins-load': measurePluginsLoad,
  'python-plugins': measurePythonPlugins,
  'freeze-thaw': measureFreezeThaw,
  wake: measureWake,
  recovery: measureRecovery,
  'idle-memory': measureIdleMemory,
  'output-flood': measureOutputFlood,
  'file-transfer': measureFileTransfer,
  'warm-claim': measureWarmClaim,
  checkpoints: measureCheckpoints,
  backups: measureBackups,
  'fork-files': measureForkFiles,
  'fork-chain': measureForkChain,
  methods: measureMethods,
  'server-request': measureServerRequest,
  'http-service': measureHttpService,
  'http-streams': measureHttpStreams,
};
/** These run only when they are named: they fetch what they compare with, or take minutes. */
const ON_REQUEST: typeof BENCHMARKS = {
  'openai-agents': measureOpenaiAgents,
  'stored-rows': measureStoredRows,
  'open-conversations': measureOpenConversations,
  'cached-conversations': measureCachedConversations,
  'idle-conversations': measureIdleConversations,
  'long-conversation': measureLongConversation,
};
const ALL = { ...BENCHMARKS, ...ON_REQUEST };

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } });
const unknown = positionals.find((name) => !Object.hasOwn(ALL, name));
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown}". Known: ${Object.keys(ALL).join(', ')}.`);
  process.exitCode = 2;
} else {
  await runBenchmarks(positionals.length > 0 ? positionals : Object.keys(BENCHMARKS), values.json);
}

async function runBenchmarks(names: string[], file: string | undefined): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  await using stack = await startTemporaryStack('bench', { LONGSHORE_LOG_LEVEL: 'error' }, (line) => console.log(line));
  await using parts = await openParts(stack);
  console.log(await machineFacts(parts.docker));
  const measurements: Measurement[] = [];
  for (const name of names) {
    const result = (await ALL[name]?.(parts)) ?? [];
    if ('skipped' in result) console.log(`${name.padEnd(22)} skipped: ${result.skipped}`);
    else for (const measurement of result) console.log(describe(measurement));
    if (!('skipped' in result)) measurements.push(...result);
  }
  if (file !== undefined) await writeFile(file, `${JSON.stringify(measurements.map(summarize), undefined, 2)}\n`);
}

function describe({ name, ratio, goal, p50, p95, unit, baseline }: Measurement): string {
  const verdict = goal === undefined ? 'no goal' : `goal ${goal.toFixed(3)}: ${ratio <= goal ? 'reached' : 'MISSED'}`;
  const figures = (low: number, high: number) => `p50 ${round(low)}, p95 ${round(high)} ${unit}`;
  return `${name.padEnd(22)} ratio ${ratio.toFixed(3)}, ${verdict}   ${figures(p50, p95)}   against ${baseline.what}: ${figures(baseline.p50, baseline.p95)}`;
}

/** What programs read; the baseline is for people. */
function summarize({ name, ratio, goal, p50, p95, unit }: Measurement): Omit<Measurement, 'baseline'> {
  return { name, ratio: round(ratio), ...(goal !== undefined && { goal: round(goal) }), p50: round(p50), p95: round(p95), unit };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
