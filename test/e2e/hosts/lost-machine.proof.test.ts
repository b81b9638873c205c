import { Client, Connection } from '@temporalio/client';
import { HOST_CUT_OFF, hostQueue } from '../../../src/contracts/hosts/elsewhere.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, until, untilEvent } from '../support.ts';
import { LOST, secondEngine, testWithTwoEngines, titled } from './second-engine.ts';

const LONG = [{ call: 'shell:run', with: { command: 'echo begun; sleep 1000', timeoutSeconds: 1200 } }, { say: 'Over.' }];
const SHORT = [
  { call: 'shell:run', with: { command: 'echo begun; echo kept > note' } },
  { say: 'First.' },
  { call: 'shell:run', with: { command: 'cat note || echo no note' }, expect: { stdout: 'no note\n' } },
  { say: 'Second.' },
];

testWithTwoEngines(
  titled('a machine is gone, and its connections seem to be open: once its host is given up, what is sent to it is answered by another one'),
  async () => {
    await using engine = await secondEngine();
    await using installation = await installAgents({ short: { steps: SHORT }, long: { steps: LONG } });
    const { TEMPORAL_ADDRESS: address = '', LONGSHORE_TASK_QUEUE: taskQueue = '' } = installation.environment;
    const connection = await Connection.connect({ address });
    const client = new Client({ connection });
    const historyOf = async (id: string) => (await client.workflow.getHandle(id).fetchHistory()).events ?? [];
    const hosts = async (...args: string[]) => {
      const { code } = await runLine(installation.longshore, ['hosts', ...args], { environment: { ...installation.environment, ...LOST } });
      expect(code).toBe(0);
    };
    const first = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'first' });
    const second = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'second', DOCKER_HOST: engine.host });
    await Promise.all([first.ready, second.ready]);
    /** The conversation has asked the other host first, and so knows where its sandbox is. */
    const startedOnFirst = async (agent: string) => {
      for (;;) {
        const chat = await installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });
        await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('begun'));
        const sent = (await historyOf(chat.id)).map((event) => event.activityTaskScheduledEventAttributes?.taskQueue?.name);
        if (sent.includes(hostQueue(taskQueue, 'first'))) return chat;
        await chat.close();
      }
    };
    await hosts('drain', 'second');
    const short = await startedOnFirst('short');
    expect(await short.reply()).toBe('First.');
    const long = await startedOnFirst('long');
    await hosts('resume', 'second');

    process.kill(first.pid, 'SIGSTOP');
    const { data } = await untilEvent(long, (event) => event.type === 'sandbox.changed' && event.data.tier === 'lost');
    expect(data).toMatchObject({ lost: expect.stringMatching(/^its host "first" has not been heard of since /) });
    expect(await long.reply()).toBe('Over.');
    await short.send('Go on.');
    expect(await short.reply()).toBe('Second.');
    const ends = (await historyOf(short.id)).flatMap(({ activityTaskFailedEventAttributes: failed, activityTaskTimedOutEventAttributes: late }) =>
      failed || late ? [{ type: failed?.failure?.applicationFailureInfo?.type, message: (failed ?? late)?.failure?.message }] : [],
    );
    expect(ends).toContainEqual({ type: HOST_CUT_OFF, message: 'Host "first" is given up: it has been silent for too long' });

    // It is back, and its calls are its own again.
    process.kill(first.pid, 'SIGCONT');
    await until(async () => (await installation.containers()).length === 0, 'the first host has removed what was taken over');
    await hosts('drain', 'second');
    const again = await startedOnFirst('short');
    expect(await again.reply()).toBe('First.');
    for (const chat of [short, long, again]) await chat.close();
    await until(
      async () => (await installation.containers()).length + (await engine.containers()).length === 0,
      'the sandboxes are gone with their conversations',
    );
    expect([await first.stop(), await second.stop()]).toEqual([0, 0]);
    await connection.close();
  },
  600_000,
);
