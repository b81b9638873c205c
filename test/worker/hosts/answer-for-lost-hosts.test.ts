import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { startAnsweringForLostHosts } from '../../../src/worker/hosts/answer-for-lost-hosts.ts';
import { asks, Stage, toolCall, until } from '../../workflows/support.ts';

const gone = 'gone';
let stage: Stage;
let connection: NativeConnection;
beforeAll(async () => {
  stage = await Stage.open();
  connection = await NativeConnection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233' });
});
afterAll(async () => {
  await connection.close();
  await stage.close();
});

test('what was sent to a lost host is answered; a worker that cannot know whether it is lost any more leaves its calls to it', async () => {
  let [isAway, asked] = [false, 0];
  const lostHosts = async () => {
    asked += 1;
    if (isAway) throw new Error('Postgres is away');
    return [gone];
  };
  const config = { TEMPORAL_NAMESPACE: 'default', LONGSHORE_TASK_QUEUE: stage.taskQueue };
  const answering = startAnsweringForLostHosts({ connection, dataConverter: {}, config, sandboxes: { lostHosts }, log: pino({ level: 'silent' }) });
  try {
    const isOnHost = (activity: string, host: string | undefined) =>
      activity.includes(':') && host === undefined ? { sandboxId: 'sbx', host: gone, waitMs: 60_000 } : undefined;
    const first = await stage.start((world) => {
      world.answers.push(asks(toolCall()), asks());
      let isTaken = false;
      // The second worker that is asked takes the sandbox over.
      world.elsewhere = (activity, host) => {
        const home = isTaken ? undefined : isOnHost(activity, host);
        if (home) isTaken = true;
        return home;
      };
    });
    await first.untilAsked('finishTurn');
    expect(first.asked('shell:run')).toHaveLength(2);
    // The host is back, which this worker does not learn: it answers one call more.
    isAway = true;
    const since = asked;
    const second = await stage.start((world) => {
      world.answers.push(asks(toolCall()), asks());
      world.elsewhere = isOnHost;
    });
    await until(
      async () => asked > since && second.asked('shell:run').length >= 2,
      () => 'the worker that is cut off has answered no call',
    );
    await stage.pollHost(gone);
    await second.untilAsked('finishTurn');
    const calls = Array.from({ length: 12 }, () => toolCall());
    const third = await stage.start((world) => {
      world.answers.push(asks(...calls), asks());
      world.elsewhere = isOnHost;
    });
    await third.untilAsked('finishTurn');
    const [, ...later] = third.whereAsked().filter((place) => place.startsWith('shell:run'));
    expect(later).toEqual(calls.map(({ callId }) => `shell:run ${callId} @${gone}`));
  } finally {
    await answering.stop();
  }
});
