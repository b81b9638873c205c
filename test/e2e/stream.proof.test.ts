import { install, resultsOf, untilEvent } from './support.ts';

const BYTES = 10 * 1024 * 1024;
const STREAM = `echo run >> /home/user/runs
for i in $(seq 40); do head -c 262144 /dev/urandom | base64 -w0 | head -c 262144; sleep 0.1; done | tee /home/user/copy`;
const COMPARE = `cat /home/user/runs; sha256sum < /home/user/copy
for file in /home/.longshore/execs/*/stdout; do if [ "$(stat -c %s $file)" = ${BYTES} ]; then sha256sum < $file; fi; done`;

test('a worker killed while a command streams 10 MB: the journal has every byte and the command ran once', async () => {
  await using installation = await install([
    { call: 'shell:run', with: { command: STREAM }, expect: { exitCode: 0 } },
    { call: 'shell:run', with: { command: COMPARE }, expect: { exitCode: 0 } },
    { say: 'Streamed.' },
  ]);
  const first = installation.startWorker();
  const second = installation.startWorker();
  await Promise.all([first.ready, second.ready]);
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Stream.' });
  await untilEvent(chat, ({ type }) => type === 'tool.output');
  const third = installation.startWorker();
  await first.kill();
  await third.ready;
  await second.kill();
  expect(await chat.reply()).toBe('Streamed.');
  const [streamed, compared] = await resultsOf(chat);
  expect((streamed!['stdout'] as string).length).toBeLessThan(32_768);
  const [runs, copy, journal, ...more] = (compared!['stdout'] as string).trim().split('\n');
  expect(runs).toBe('run');
  expect(journal).toBe(copy);
  expect(more).toEqual([]);
  await chat.close();
}, 400_000);
