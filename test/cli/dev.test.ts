import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { install } from '../e2e/support.ts';

test('dev starts a worker on the servers it is given, starts another when it is killed, and Ctrl-C ends all of it', async () => {
  await using installation = await install([{ say: 'Hello.' }]);
  const dev = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', 'dev'], { env: { ...process.env, ...installation.environment } });
  const ended = once(dev, 'exit');
  let said = '';
  for (const stream of [dev.stdout, dev.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const readyWorkers = () => [...said.matchAll(/"pid":(\d+)[^\n]*worker ready/g)].map((match) => Number(match[1]));
  const untilReady = async (count: number) => {
    while (readyWorkers().length < count) await Promise.race([once(dev.stderr, 'data'), failIfEnded()]);
  };
  const failIfEnded = async () => {
    await ended;
    throw new Error(`dev has ended: ${said}`);
  };

  await untilReady(1);
  process.kill(readyWorkers()[0]!, 'SIGKILL');
  await untilReady(2);
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Hi' });
  expect(await chat.reply()).toBe('Hello.');
  await chat.close();
  dev.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
  expect(() => process.kill(readyWorkers()[1]!, 0)).toThrow('ESRCH');
}, 180_000);
