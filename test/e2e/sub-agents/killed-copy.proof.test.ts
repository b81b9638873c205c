import { setTimeout as sleep } from 'node:timers/promises';
import { installAgents, resultsOf, until, untilEvent, type Installation } from '../support.ts';

/** A sub-agent's copy of its parent's files, while the worker that makes it is killed, and while a command of the parent runs. */
const MOMENTS_MS = [400, 1500];
const TICKS = 16;

let installation: Installation;
beforeAll(async () => {
  const shell = (command: string) => ({ call: 'shell:run', with: { command } });
  installation = await installAgents({
    parent: {
      agents: { copier: { agent: 'copier', description: 'Works in a copy.', sandbox: 'fork' } },
      steps: [
        // Large enough for the copy to take a while.
        shell('head -c 80000000 /dev/urandom > cargo; sha256sum cargo > sum; echo parent > note'),
        { calls: [{ call: 'agents:run', with: { agent: 'copier', task: 'Work.' } }, shell(`for i in $(seq ${TICKS}); do sleep 0.3; echo $i >> ticks; done`)] },
        shell('cat note; wc -l < ticks'),
        { say: 'Done.' },
      ],
    },
    copier: { steps: [{ ...shell('sha256sum -c sum && cat note && echo copied > note'), expect: { exitCode: 0 } }, { say: 'Copied.' }] },
  });
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

test.each(MOMENTS_MS)(
  'a worker is killed %i ms after the task was given: the copy is whole, the command of the parent goes on, and nothing is left',
  async (moment) => {
    const [first, second] = [installation.startWorker(), installation.startWorker()];
    await Promise.all([first.ready, second.ready]);
    await using chat = await installation.longshore.start({ agent: 'parent', user: 'ann', message: 'Go.' });
    await untilEvent(chat, ({ type, data }) => type === 'tool.started' && data['tool'] === 'agents:run');
    await sleep(moment);
    await first.kill();
    const third = installation.startWorker();
    await third.ready;
    await second.kill();
    expect(await chat.reply()).toBe('Done.');
    const results = await resultsOf(chat);
    expect(results.map(({ text }) => text)).toContain('Copied.');
    expect(results.at(-1)).toMatchObject({ stdout: `parent\n${TICKS}\n` });
    await chat.close();
    await until(async () => (await chat.status()).state === 'closed', 'it is closed');
    await installation.reap();
    expect([await installation.containers(), await installation.volumes()]).toEqual([[], []]);
    await third.stop();
  },
  180_000,
);
