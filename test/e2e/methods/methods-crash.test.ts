import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { installAgents, resultsOf, until, type WorkerProcess } from '../support.ts';

const LAB = fileURLToPath(new URL('../fixtures/lab', import.meta.url));
const ROUNDS = 10;
const KILLS = 5;
/** Each round reads, notes, and does what needs an approval; the last two leave a line each, written once by whichever worker. */
const SCRIPT = `
from longshore import tools
seen = []
for n in range(${ROUNDS}):
    seen.append(tools.lab.look(key=str(n))['key'])
    seen.append(tools.lab.remark(line=f'remark {n}'))
    seen.append(tools.lab.append(line=f'append {n}')['written'])
print(seen)
`;

test(`a worker killed ${KILLS} times while a script makes ${3 * ROUNDS} calls: each takes effect once, and the script finishes`, async () => {
  await using installation = await installAgents({
    scripted: {
      plugins: [LAB],
      tools: ['shell:*', 'code:*', 'lab:*'],
      approval: [
        { tool: 'lab:append', decide: 'ask' },
        { tool: '*', decide: 'allow' },
      ],
      steps: [{ call: 'code:run', with: { language: 'python', code: SCRIPT } }, { call: 'shell:run', with: { command: 'cat lab.log' } }, { say: 'Finished.' }],
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
  for (let kills = 0; kills < KILLS; kills += 1) {
    await until(async () => (await finished()) >= kills * 3, 'the script has come further');
    await sleep(Math.random() * 300);
    await working.kill();
    working = next;
    next = installation.startWorker();
    await working.ready;
  }
  expect(await chat.reply()).toBe('Finished.');
  over.abort();
  await approving;
  const rounds = Array.from({ length: ROUNDS }, (_, n) => n);
  const [printed, log] = await resultsOf(chat);
  const seen = rounds.map((n) => `'${n}', 'remarked remark ${n}', 'append ${n}'`).join(', ');
  expect(printed).toMatchObject({ exitCode: 0, stdout: `[${seen}]\n`, stderr: '' });
  expect(log).toMatchObject({ stdout: rounds.map((n) => `remark ${n}\nappend ${n}\n`).join('') });
  await chat.close();
}, 900_000);
