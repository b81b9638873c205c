import { setTimeout as sleep } from 'node:timers/promises';
import type { Chat } from '../src/client.ts';
import { definePlugin, defineTool } from '../src/plugins/api/define-plugin.ts';
import type { Store } from '../src/store/store.ts';
import { gaps, startBareWorker } from './bare-worker.ts';
import { startBenchWorker } from './bench-worker.ts';
import { compare, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

/** As many as the scripts of the agents call in one step. */
const STEPS = 20;
const ROUNDS = 8;
/** They start the sandbox, fill the caches and give the compiler time to know the code, as in a worker that has run for a while. */
const WARM_UP = 4;
const LOOK_EVERY_MS = 200;

const nothing = {
  id: 'nothing',
  description: 'Does nothing.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  isolation: 'host',
  execute: async () => 'done',
} as const;
const PLUGIN = definePlugin({ id: 'bench', tools: [defineTool(nothing)] });

/**
 * Calls of tools, one after the other, against bare activities that do nothing, on the same server. A tool that does nothing as well shows what
 * durability costs: the ledger, the result, the transcript, the events. A command shows what it is like with work in a sandbox.
 */
export async function measureToolStep(parts: BenchParts): Promise<Measurement[]> {
  const ends: number[] = [];
  await using worker = await startBenchWorker({ ...parts, store: noting(parts.store, ends) }, [PLUGIN]);
  await using bare = await startBareWorker(parts, worker);
  const chats = {
    nothing: await worker.longshore.start({ agent: 'stepper', user: 'bench' }),
    command: await worker.longshore.start({ agent: 'commander', user: 'bench' }),
  };
  const samples = { nothing: [] as number[], command: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const taken = { nothing: await stepsOf(chats.nothing, ends), command: await stepsOf(chats.command, ends), baseline: await bare.run(STEPS) };
    if (round < WARM_UP) continue;
    for (const kind of ['nothing', 'command', 'baseline'] as const) samples[kind].push(...taken[kind]);
  }
  for (const chat of Object.values(chats)) {
    await chat.close();
    for await (const event of chat.events()) if (event.type === 'conversation.closed') break;
  }
  const { nothing: subject, command, baseline } = samples;
  const baselineIs = 'an activity that does nothing';
  return [
    compare({ name: 'tool-step', goal: 1.5, unit: 'ms', baselineIs }, { subject, baseline }),
    compare({ name: 'tool-step-command', unit: 'ms', baselineIs }, { subject: command, baseline }),
  ];
}

async function stepsOf(chat: Chat, ends: number[]): Promise<number[]> {
  ends.length = 0;
  await chat.send('Go.');
  // Looks now and then: following the events would put a reader's work into the worker's process.
  do await sleep(LOOK_EVERY_MS);
  while (ends.length < STEPS || (await chat.status()).state !== 'idle');
  return gaps(ends);
}

/** The same store, which notes when each call has its result. */
function noting(store: Store, ends: number[]): Store {
  const settle: Store['toolCalls']['settle'] = async (...call) => {
    const settled = await store.toolCalls.settle(...call);
    ends.push(performance.now());
    return settled;
  };
  return { ...store, toolCalls: { ...store.toolCalls, settle } };
}
