import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { installAgents, resultsOf, until, type WorkerProcess } from '../support.ts';

const LAB = fileURLToPath(new URL('../fixtures/lab', import.meta.url));
/** Each round reads, notes, and does what needs an approval; the last two leave a line each, written once by whichever worker. */
const script = (rounds: number) => `
from longshore import tools
seen = []
for n in range(${rounds}):
    seen.append(tools.lab.look(key=str(n))['key'])
    seen.append(tools.lab.remark(line=f'remark {n}'))
    seen.append(tools.lab.append(line=f'append {n}')['written'])
print(seen)
`;

/** Kills workers while a script makes three calls in each of its rounds. Each call takes effect once, and the script finishes. */
export async function killWorkersOfScript({ kills, rounds }: { kills: number; rounds: number }): Promise<void> {
  await using installation = await installAgents({
    scripted: {
      plugins: [LAB],
      tools: ['shell:*', 'code:*', 'lab:*'],
      approval: [
        { tool: 'lab:append', decide: 'ask' },
        { tool: '*', decide: 'allow' },
      ],
      steps: [
        { call: 'code:run', with: { language: 'python', code: script(rounds) } },
        { call: 'shell:run', with: { command: 'cat lab.log' } },
        { say: 'Finished.' },
      ],
    },
  });
  const { longshore, store } = installation;
  let working: WorkerProcess = installation.startWorker();
  let next: WorkerProcess = installation.startWorker();
  await working.ready;
  const chat = await longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  const over = new AbortController();
  const approving = (async () => {
    while (!over.signal.aborted) {
      for (const { callId } of (await chat.status()).pendingApprovals) await chat.approve({ callId, answer: 'allow-once' }).catch(() => undefined);
      await sleep(30);
    }
  })();
  const finished = async () => (await store.events.read(chat.id, 0)).filter(({ type }) => type === 'tool.finished').length;
  for (let killed = 0; killed < kills; killed += 1) {
    await until(async () => (await finished()) >= killed * 3, 'the script has come further');
    await sleep(Math.random() * 300);
    await working.kill();
    working = next;
    next = installation.startWorker();
    await working.ready;
  }
  expect(await chat.reply()).toBe('Finished.');
  over.abort();
  await approving;
  const each = Array.from({ length: rounds }, (_, n) => n);
  const [printed, log] = await resultsOf(chat);
  const seen = each.map((n) => `'${n}', 'remarked remark ${n}', 'append ${n}'`).join(', ');
  expect(printed).toMatchObject({ exitCode: 0, stdout: `[${seen}]\n`, stderr: '' });
  expect(log).toMatchObject({ stdout: each.map((n) => `remark ${n}\nappend ${n}\n`).join('') });
  await chat.close();
}
