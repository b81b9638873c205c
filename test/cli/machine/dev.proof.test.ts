import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { install, type Installation } from '../../e2e/support.ts';
import { builtCommandLine } from '../../support/built-programs.ts';

/** Runs `longshore dev` on the servers of an installation. */
async function startDev({ environment }: Installation): Promise<{
  dev: ChildProcess;
  ended: Promise<unknown[]>;
  untilReady(this: void, workers: number): Promise<number[]>;
  warnings(this: void): string[];
}> {
  const dev = spawn(process.execPath, [await builtCommandLine(), 'dev'], { env: { ...process.env, ...environment } });
  const ended = once(dev, 'exit');
  let said = '';
  for (const stream of [dev.stdout, dev.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const readyWorkers = () => [...said.matchAll(/"pid":(\d+)[^\n]*worker ready/g)].map((match) => Number(match[1]));
  const failIfEnded = async () => {
    await ended;
    throw new Error(`dev has ended: ${said}`);
  };
  return {
    dev,
    ended,
    async untilReady(count) {
      while (readyWorkers().length < count) await Promise.race([once(dev.stderr, 'data'), failIfEnded()]);
      return readyWorkers();
    },
    warnings: () => said.split('\n').filter((line) => /^\{"level":[456]0/.test(line)),
  };
}

test('dev starts a worker on the servers it is given, starts another when it is killed, and Ctrl-C ends all of it', async () => {
  await using installation = await install([{ say: 'Hello.' }]);
  const { dev, ended, untilReady } = await startDev(installation);
  const [first] = await untilReady(1);
  process.kill(first!, 'SIGKILL');
  const [, second] = await untilReady(2);
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Hi' });
  expect(await chat.reply()).toBe('Hello.');
  await chat.close();
  dev.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
  expect(() => process.kill(second!, 0)).toThrow('ESRCH');
}, 400_000);

test('dev that is ended by SIGTERM, as by a service manager, warns of nothing and leaves no worker behind', async () => {
  await using installation = await install([]);
  const { dev, ended, untilReady, warnings } = await startDev(installation);
  const [worker] = await untilReady(1);
  dev.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(warnings()).toEqual([]);
  expect(() => process.kill(worker!, 0)).toThrow('ESRCH');
}, 400_000);
