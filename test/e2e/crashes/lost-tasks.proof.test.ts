import { fileURLToPath } from 'node:url';
import { isFailure } from '../../../src/contracts/errors.ts';
import { installAgents, resultsOf, textIn, untilEvent } from '../support.ts';

const LAB = fileURLToPath(new URL('../fixtures/lab', import.meta.url));
const CONVERSATIONS = 12;

test('calls that may run once, and whose tasks Temporal gave to a worker that is gone, are run by another one', async () => {
  await using installation = await installAgents({
    drawer: {
      plugins: [LAB],
      tools: ['lab:*'],
      approval: [{ tool: '*', decide: 'ask' }],
      steps: [{ call: 'lab:draw', with: {} }, { say: 'Drawn.' }],
    },
  });
  const [gone, other] = [installation.startWorker(), installation.startWorker()];
  await Promise.all([gone.ready, other.ready]);
  const chats = await Promise.all(
    Array.from({ length: CONVERSATIONS }, () => installation.longshore.start({ agent: 'drawer', user: 'user-1', message: 'Draw.' })),
  );
  const asked = await Promise.all(chats.map((chat) => untilEvent(chat, ({ type }) => type === 'tool.approval-requested')));
  // It does nothing any more, and its connections stay: as a machine that is gone, it has asked for work, and is given some.
  process.kill(gone.pid, 'SIGSTOP');
  await Promise.all(chats.map((chat, index) => insist(() => chat.approve({ callId: textIn(asked[index]?.data, 'callId'), answer: 'allow-once' }))));
  expect(await Promise.all(chats.map((chat) => chat.reply()))).toEqual(chats.map(() => 'Drawn.'));
  const results = await Promise.all(chats.map((chat) => resultsOf(chat)));
  expect(results.flat().filter((result) => JSON.stringify(result).includes('not known'))).toEqual([]);
  for (const chat of chats) await chat.close();
}, 300_000);

/** An answer may be given to the worker that is gone as well, and an attempt that seemed to fail may be accepted later. */
async function insist(approve: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await approve();
      return;
    } catch (error) {
      if (isFailure(error, 'APPROVAL_NOT_FOUND')) return;
      if (!isFailure(error, 'NO_WORKER')) throw error;
    }
  }
}
