import { setTimeout as sleep } from 'node:timers/promises';
import { definePlugin, defineTool } from '../src/plugins/api/define-plugin.ts';
import type { Chat } from '../src/client.ts';
import { startBareWorker } from './bare-worker.ts';
import { startBenchWorker } from './bench-worker.ts';
import { compare, compareWithLimit, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

const ROUNDS = 6;
const WARM_UP = 3;
const LOOK_EVERY_MS = 200;
const READ_LIMIT_MS = 1;
const BARE_STEPS = 20;

/** What the script's code prints: milliseconds of each of its calls, by its own clock. */
interface Printed {
  reads: number[];
  changes: number[];
}

const empty = { type: 'object', properties: {}, additionalProperties: false } as const;
const look = {
  id: 'look',
  description: 'Only reads.',
  parameters: empty,
  isolation: 'host',
  annotations: { readOnlyHint: true },
  execute: async () => ({ seen: true }),
} as const;
const change = { id: 'change', description: 'May have an effect.', parameters: empty, isolation: 'host', execute: async () => ({ changed: true }) } as const;
const PLUGIN = definePlugin({ id: 'bench', tools: [defineTool(look), defineTool(change)] });

/** Calls of tools by Python code in a sandbox: one that only reads against a limit, one that goes by way of the workflow against a bare activity. */
export async function measureMethods(parts: BenchParts): Promise<Measurement[]> {
  await using worker = await startBenchWorker(parts, [PLUGIN]);
  await using bare = await startBareWorker(parts, worker);
  const chat = await worker.longshore.start({ agent: 'caller', user: 'bench' });
  const reads: number[] = [];
  const durable = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    await chat.send('Go.');
    do await sleep(LOOK_EVERY_MS);
    while ((await chat.status()).state !== 'idle');
    const baseline = await bare.run(BARE_STEPS);
    if (round < WARM_UP) continue;
    durable.baseline.push(...baseline);
  }
  await chat.close();
  for (const printed of (await printedBy(chat)).slice(WARM_UP)) {
    reads.push(...printed.reads);
    durable.subject.push(...printed.changes);
  }
  return [
    compareWithLimit({ name: 'method-read', unit: 'ms', limit: READ_LIMIT_MS }, reads),
    compare({ name: 'method-durable', goal: 2, unit: 'ms', baselineIs: 'an activity that does nothing' }, durable),
  ];
}

/** Of each round, in their order. */
async function printedBy(chat: Chat): Promise<Printed[]> {
  const printed: Printed[] = [];
  for await (const event of chat.events()) {
    if (event.type === 'conversation.closed') break;
    if (event.type !== 'tool.finished' || event.data.tool !== 'code:run') continue;
    const found = /\{\\?"reads.*?\]\}/.exec(event.data.text)?.[0];
    if (found === undefined) throw new Error(`the code of the benchmark failed: ${event.data.text}`);
    printed.push(JSON.parse(found.replaceAll('\\', '')) as Printed);
  }
  return printed;
}
