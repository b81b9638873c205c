import { setTimeout as sleep } from 'node:timers/promises';
import { install, resultsOf, until, untilEvent } from './support.ts';

const TIMEOUT_SECONDS = 8;
const COMMAND = 'echo started; for i in 1 2 3 4; do sleep 0.5; done; echo ended';

test('paused in mid-command for longer than its timeout and resumed, the command finishes', async () => {
  await using installation = await install([
    { call: 'shell:run', with: { command: COMMAND, timeoutSeconds: TIMEOUT_SECONDS }, expect: { exitCode: 0, status: 'exited' } },
    { say: 'Finished.' },
  ]);
  await installation.startWorker().ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('started'));
  await chat.pause({ mode: 'now' });
  await until(async () => (await chat.status()).state === 'paused', 'the conversation is paused');
  await until(async () => (await chat.status()).sandboxTier === 'frozen', 'its sandbox is frozen');
  // What is claimed is about time that passes.
  await sleep(TIMEOUT_SECONDS * 1000 + 500);
  expect((await chat.status()).state).toBe('paused');
  await chat.resume();
  expect(await chat.reply()).toBe('Finished.');
  expect((await resultsOf(chat))[0]).toMatchObject({ exitCode: 0, stdout: 'started\nended\n' });
  await chat.close();
}, 120_000);

test('a worker that is asked to stop lets go of the command, and the next one gets its result', async () => {
  await using installation = await install([
    { call: 'shell:run', with: { command: `echo started; ${COMMAND.replace('sleep 0.5', 'sleep 3')}` }, expect: { exitCode: 0 } },
    { say: 'Finished.' },
  ]);
  const first = installation.startWorker();
  await first.ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('started'));
  const second = installation.startWorker();
  expect(await first.stop()).toBe(0);
  await second.ready;
  expect(await chat.reply()).toBe('Finished.');
  expect((await resultsOf(chat))[0]).toMatchObject({ exitCode: 0, stdout: 'started\nstarted\nended\n' });
  await chat.close();
}, 120_000);
