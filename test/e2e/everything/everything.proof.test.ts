import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { inTime } from '../../../src/common/in-time.ts';
import { randomFrom } from '../../../scripts/chaos/random.ts';
import { killWorkers, seedFrom } from './kill-workers.ts';
import { installAgents, until, type Installation } from '../support.ts';
import { AGENTS } from './agents.ts';
import { checkTree, type Tally } from './checks.ts';
import { startJudge, type Judge } from './judge.ts';
import { kindsOf } from './kinds.ts';
import { allowEverything } from './person.ts';
import { HOST_PLUGINS, toolsmith } from './toolsmith.ts';

/** The longer form: LONGSHORE_EVERYTHING_KILLS=100. The same kills again: LONGSHORE_EVERYTHING_SEED with the number that was printed. */
const KILLS = Number(process.env['LONGSHORE_EVERYTHING_KILLS'] ?? 15);
const SEED = seedFrom('LONGSHORE_EVERYTHING_SEED');
/** A round that takes longer hangs. A kill while a sandbox is changed may cost the 15 seconds after which that is tried again. Milliseconds. */
const ROUND_MS = 200_000 + KILLS * 4000;

let judge: Judge;
let installation: Installation;
beforeAll(async () => {
  judge = await startJudge();
  installation = await installAgents({ ...AGENTS, judged: { ...AGENTS['judged']!, ...judge.keys }, toolsmith: await toolsmith() });
  installation.environment['LONGSHORE_HOST_PLUGINS'] = HOST_PLUGINS;
  await cp('examples/agents/skills', join(installation.environment['LONGSHORE_AGENTS'] ?? '', 'skills'), { recursive: true });
}, 180_000);
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await judge[Symbol.asyncDispose]();
}, 180_000);

/** One conversation of each kind, all at the same time. */
async function round(number: number, random: () => number, tally: Tally): Promise<void> {
  const chats = await Promise.all(
    Object.entries(kindsOf(installation, random)).map(async ([agent, { message, converse }]) => {
      const chat = await installation.longshore.start({ agent, user: `ann-${number}`, message: 'Go.', ...message });
      const all = [chat, ...((await converse(chat)) ?? [])];
      for (const each of all) await each.close();
      return all;
    }),
  );
  for (const chat of chats.flat()) {
    await until(async () => (await chat.status()).state === 'closed', `${chat.id} is closed`);
    await checkTree(installation.longshore, chat, tally);
  }
}

/** What a round that hangs waits for. */
async function openConversations() {
  const rows = await installation.longshore.list({ limit: 1000 });
  return rows
    .filter(({ state }) => state !== 'closed')
    .map(({ conversationId, agentId, state, status: { runningCalls, waitingCalls, lastTurn } }) => {
      const calls = [...runningCalls, ...(waitingCalls ?? [])].map(({ tool }) => tool);
      return [conversationId, agentId, state, ...calls, ...(lastTurn ? [lastTurn.outcome] : [])].join(' ');
    });
}

async function openWorkflows(): Promise<string[]> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233' });
  try {
    const open: string[] = [];
    const query = `TaskQueue = '${installation.name}' and ExecutionStatus = 'Running'`;
    for await (const { workflowId } of new Client({ connection }).workflow.list({ query })) open.push(workflowId);
    return open;
  } finally {
    await connection.close();
  }
}

test(
  `everything at once, while workers are killed ${KILLS} times: nothing is lost, doubled, overspent or left`,
  async () => {
    const tally: Tally = { conversations: 0, calls: 0, effects: 0, tasks: 0, events: 0 };
    const begunMs = Date.now();
    const random = randomFrom(SEED);
    await using killing = await killWorkers(installation, random, KILLS);
    await using _person = allowEverything(installation);
    let rounds = 0;
    try {
      do {
        await inTime(round(rounds, random, tally), ROUND_MS, () => new Error('a round has not ended'));
        rounds += 1;
      } while (killing.kills() < KILLS);
      await killing.stop();
    } finally {
      const seconds = Math.round((Date.now() - begunMs) / 1000);
      process.stdout.write(`${JSON.stringify({ seed: SEED, kills: killing.kills(), rounds, seconds, ...tally, open: await openConversations() })}\n`);
    }
    expect(killing.kills()).toBe(KILLS);
    expect(judge.check()).toBeGreaterThan(0);
    await until(async () => (await openWorkflows()).length === 0, 'no workflow is open');
    expect((await installation.longshore.list({ limit: 1000 })).filter(({ state }) => state !== 'closed')).toEqual([]);
    const states = ['creating', 'running', 'frozen', 'hibernated', 'stopped', 'archived', 'lost'] as const;
    expect(await installation.store.sandboxes.list({ states: [...states] })).toEqual([]);
    await installation.reap();
    expect([await installation.containers(), await installation.volumes()]).toEqual([[], []]);
  },
  60_000 + KILLS * 30_000,
);
