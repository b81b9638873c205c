import { setTimeout as sleep } from 'node:timers/promises';
import { install, resultsOf, type ScriptedStep, type WorkerProcess } from '../support.ts';

/** The kills come in bursts of two or three, which also hit the recovery from the one before; the bursts are spread over the conversation. */
const KILLS_PER_BURST = 2.5;

/** Each call leaves a mark in the middle of its time, so that a kill falls before, between and after the effects. */
const stepsOf = (calls: number): ScriptedStep[] => [
  ...Array.from({ length: calls }, (_, index) => ({
    call: 'shell:run',
    with: { command: `sleep 0.4; echo ${index} >> /home/user/log; sleep 0.4` },
    expect: { exitCode: 0 },
  })),
  { call: 'shell:run', with: { command: 'cat /home/user/log' } },
  { say: 'All calls are made.' },
];

/** Kills workers at random moments of a conversation. Every call takes effect exactly once, and the transcript is whole. */
export async function killWorkers({ kills, calls }: { kills: number; calls: number }): Promise<void> {
  await using installation = await install(stepsOf(calls));
  const { longshore } = installation;
  // The next worker waits in the wings: what is tested is the kill, not the start of a process.
  let working: WorkerProcess = installation.startWorker();
  let next: WorkerProcess = installation.startWorker();
  await working.ready;
  const chat = await longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  const finished = countFinished(chat);
  const callsPerBurst = (calls / kills) * KILLS_PER_BURST;
  for (let killed = 0; killed < kills; killed += 1) {
    await finished.atLeast(Math.floor(killed / KILLS_PER_BURST) * callsPerBurst);
    await sleep(Math.random() * 1200);
    await working.kill();
    working = next;
    next = installation.startWorker();
    await working.ready;
  }
  expect(await chat.reply()).toBe('All calls are made.');
  await finished.stop();
  const results = await resultsOf(chat);
  expect(results).toHaveLength(calls + 1);
  expect((results.at(-1)!['stdout'] as string).trim().split('\n')).toEqual(Array.from({ length: calls }, (_, index) => String(index)));
  const roles = (await chat.transcript()).map(({ entry }) => entry.role);
  expect(roles).toEqual(['user', ...Array.from({ length: calls + 1 }, () => ['assistant', 'tool']).flat(), 'assistant']);
  await chat.close();
  for await (const event of chat.events()) if (event.type === 'conversation.closed') break;
  expect(await installation.containers()).toEqual([]);
}

/** Follows the conversation's events and lets others wait for its progress. */
function countFinished(chat: Awaited<ReturnType<Awaited<ReturnType<typeof install>>['longshore']['start']>>) {
  const stopped = new AbortController();
  const waiting = new Map<() => void, number>();
  let count = 0;
  const following = (async () => {
    for await (const { type } of chat.events({ signal: stopped.signal })) {
      if (type === 'tool.finished') count += 1;
      for (const [wake, least] of waiting) if (count >= least) wake();
    }
  })();
  return {
    async atLeast(least: number): Promise<void> {
      if (count < least) await new Promise<void>((wake) => waiting.set(wake, least));
    },
    async stop(): Promise<void> {
      stopped.abort();
      await following;
    },
  };
}
