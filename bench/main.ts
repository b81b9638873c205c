import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { startTemporaryStack } from '../scripts/temporary-stack.ts';
import { measureCommandExec } from './command-exec.ts';
import { measureHistoryBytes } from './history-bytes.ts';
import { machineFacts } from './machine-facts.ts';
import type { Measurement } from './measure.ts';
import { openParts, type BenchParts } from './parts.ts';
import { measureSandboxReady } from './sandbox-ready.ts';
import { measureToolStep } from './tool-step.ts';
import { measureWarmClaim } from './warm-claim.ts';

const BENCHMARKS: Record<string, (parts: BenchParts) => Promise<Measurement[]>> = {
  'command-exec': measureCommandExec,
  'tool-step': measureToolStep,
  'history-bytes': measureHistoryBytes,
  'sandbox-ready': measureSandboxReady,
  'warm-claim': measureWarmClaim,
};

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } });
const unknown = positionals.find((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown}". Known: ${Object.keys(BENCHMARKS).join(', ')}.`);
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
    for (const measurement of (await BENCHMARKS[name]?.(parts)) ?? []) {
      measurements.push(measurement);
      console.log(describe(measurement));
    }
  }
  if (file !== undefined) await writeFile(file, `${JSON.stringify(measurements.map(summarize), undefined, 2)}\n`);
}

function describe({ name, ratio, goal, p50, p95, unit, baseline }: Measurement): string {
  const verdict = ratio <= goal ? 'reached' : 'MISSED';
  const figures = (low: number, high: number) => `p50 ${round(low)}, p95 ${round(high)} ${unit}`;
  return `${name.padEnd(22)} ratio ${ratio.toFixed(3)}, goal ${goal.toFixed(3)}: ${verdict}   ${figures(p50, p95)}   against ${baseline.what}: ${figures(baseline.p50, baseline.p95)}`;
}

/** What programs read; the baseline is for people. */
function summarize({ name, ratio, goal, p50, p95, unit }: Measurement): Omit<Measurement, 'baseline'> {
  return { name, ratio: round(ratio), goal: round(goal), p50: round(p50), p95: round(p95), unit };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
