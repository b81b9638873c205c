import type { Chat } from '../../src/client.ts';
import { startBenchWorker } from '../bench-worker.ts';
import { compare, timed, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';

const ROUNDS = 3;
const AT_ONCE = 4;

/** A fork of a conversation with 200 MB in 10 000 files, from the request until it has its files, against `cp -a` of the same files in the sandbox; and four at once. */
export async function measureForkFiles(parts: BenchParts): Promise<Measurement[]> {
  await using worker = await startBenchWorker(parts);
  const chat = await worker.longshore.start({ agent: 'filler', user: 'bench', message: 'Fill your home.' });
  await chat.reply();
  const one = { subject: [] as number[], baseline: [] as number[] };
  const many: number[] = [];
  const row = await parts.store.sandboxes.ofConversation(chat.id);
  const { handle } = await parts.sandboxes.open({ sandboxId: row?.sandboxId ?? '', conversationId: chat.id, tenantId: 'default' }, {});
  for (let round = 0; round < ROUNDS; round += 1) {
    one.subject.push(await forks(chat, 1));
    many.push(await forks(chat, AT_ONCE));
    await handle.run('mkdir copy');
    one.baseline.push(await timed(() => handle.run('cp -a d* copy', { timeoutMs: 120_000 })));
    await handle.run('rm -rf copy');
  }
  await chat.close();
  for await (const _ of chat.events());
  return [
    compare({ name: 'fork-files', unit: 'ms', baselineIs: 'cp -a of the same files in the sandbox' }, one),
    compare({ name: `fork-files-${AT_ONCE}`, unit: 'ms', baselineIs: 'one fork' }, { subject: many, baseline: one.subject }),
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
