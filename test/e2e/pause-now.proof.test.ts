import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../src/platform/run-command.ts';
import type { Chat } from '../../src/client.ts';
import { install, resultsOf, until, untilEvent, type Installation } from './support.ts';

const TIMEOUT_SECONDS = 8;
const COMMAND = 'echo started; for i in 1 2 3 4; do sleep 0.5; done; echo ended';

/** What the events contain of the standard output, in order; each byte once. */
async function toldOutput({ store }: Installation, chat: Chat): Promise<string> {
  let told = '';
  for (const { type, data } of await store.events.read(chat.id, 0)) {
    if (type !== 'tool.output' || data.stream !== 'stdout') continue;
    expect(data.offset).toBe(Buffer.byteLength(told));
    told += data.text;
  }
  return told;
}

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
  expect(await toldOutput(installation, chat)).toBe('started\nended\n');
  await chat.close();
}, 300_000);

test('a worker that is asked to stop detaches from the command, and the next one gets its result and the output in between', async () => {
  await using installation = await install([
    { call: 'shell:run', with: { command: 'echo started; until [ -e go ]; do date +%s.%N; sleep 0.1; done; echo ended' }, expect: { exitCode: 0 } },
    { say: 'Finished.' },
  ]);
  const first = installation.startWorker();
  await first.ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  const { data } = await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('started'));
  // The call is detached at the start of the stop, and no worker can take it over before the next one is ready.
  expect(await first.stop()).toBe(0);
  await installation.startWorker().ready;
  await until(async () => (await installation.store.toolCalls.get(data['callId'] as string))?.fence === 2, 'the next worker has the call');
  const [container = ''] = await installation.containers();
  await runCommand('docker', ['exec', '--user', 'user', container, 'touch', '/home/user/go']);
  expect(await chat.reply()).toBe('Finished.');
  const stdout = (await resultsOf(chat))[0]?.['stdout'] as string;
  expect(stdout).toMatch(/^started\n[\d.\n]+ended\n$/);
  expect(await toldOutput(installation, chat)).toBe(stdout);
  await chat.close();
}, 300_000);

test.each([
  ['a pause', 'pause'],
  ['an interruption', 'interrupt'],
])(
  'when a worker dies just before %s, nothing of its running command is lost',
  async (_what, wish) => {
    await using installation = await install([
      { call: 'shell:run', with: { command: 'echo started; until [ -e go ]; do sleep 0.1; done; echo once >> log; cat log' } },
      { say: 'Finished.' },
    ]);
    const first = installation.startWorker();
    await first.ready;
    const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
    await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('started'));
    await installation.startWorker().ready;
    // Temporal does not know of its death yet, and waits until it lets go of the call.
    await first.kill();
    if (wish === 'pause') {
      await chat.pause({ mode: 'now' });
      await until(async () => (await chat.status()).state === 'paused', 'the conversation is paused');
      await chat.resume();
      await until(async () => (await chat.status()).sandboxTier === 'running', 'its sandbox runs');
      const [container = ''] = await installation.containers();
      await runCommand('docker', ['exec', '--user', 'user', container, 'touch', '/home/user/go']);
      expect(await chat.reply()).toBe('Finished.');
      expect((await resultsOf(chat))[0]).toMatchObject({ exitCode: 0, stdout: 'started\nonce\n' });
    } else {
      await chat.interrupt();
      await until(async () => (await chat.status()).lastTurn !== undefined, 'the turn has ended');
      expect((await chat.status()).lastTurn).toMatchObject({ outcome: 'interrupted' });
      expect(JSON.stringify(await resultsOf(chat))).toContain('started');
    }
    await chat.close();
  },
  300_000,
);
