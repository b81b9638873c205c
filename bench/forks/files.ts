import type { Chat } from '../../src/client.ts';
import { startBenchWorker } from '../bench-worker.ts';
import { compare, compareWithLimit, timed, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';

const ROUNDS = 5;
const LIMIT_MS = 5_000;
const AT_ONCE = 4;
/** The source is held still for one copy after the other. */
const GOAL_AT_ONCE = 5;

/** A fork of a conversation with 200 MB in 10 000 files, from the request until it has its files; and four at once. */
export async function measureForkFiles(parts: BenchParts): Promise<Measurement[]> {
  await using worker = await startBenchWorker(parts);
  const chat = await worker.longshore.start({ agent: 'filler', user: 'bench', message: 'Fill your home.' });
  await chat.reply();
  const one: number[] = [];
  const many: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    one.push(await forks(chat, 1));
    many.push(await forks(chat, AT_ONCE));
  }
  await chat.close();
  for await (const _ of chat.events());
  return [
    compareWithLimit({ name: 'fork-files', unit: 'ms', limit: LIMIT_MS }, one),
    compare({ name: `fork-files-${AT_ONCE}`, unit: 'ms', goal: GOAL_AT_ONCE, baselineIs: 'one fork' }, { subject: many, baseline: one }),
  ];
}

/** Milliseconds until all of them have their files. */
async function forks(chat: Chat, count: number): Promise<number> {
  const made: Chat[] = [];
  const time = await timed(async () => {
    const ready = Array.from({ length: count }, async () => {
      const fork = await chat.fork();
      made.push(fork);
      for await (const { type, data } of fork.events()) {
        if (type === 'fork.ready') return;
        if (type === 'fork.failed') throw new Error(data.problem);
      }
    });
    await Promise.all(ready);
  });
  for (const fork of made) {
    await fork.close();
    for await (const _ of fork.events());
  }
  return time;
}
