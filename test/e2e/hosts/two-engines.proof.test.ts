import { openWay } from '../../../scripts/chaos/faults/way.ts';
import { install, resultsOf, until, untilEvent } from '../support.ts';
import { LOST, secondEngine, testWithTwoEngines, titled } from './second-engine.ts';

testWithTwoEngines(
  titled('a host that vanishes in the middle of a command: it is unknown, the next one runs on another engine; the old container goes when its host is back'),
  async () => {
    await using engine = await secondEngine();
    await using installation = await install([
      { call: 'shell:run', with: { command: 'echo started >> /home/user/log; echo half done; sleep 1000', timeoutSeconds: 1200 } },
      { call: 'shell:run', with: { command: 'cat /home/user/log || echo no log' }, expect: { exitCode: 0 } },
      { say: 'Over.' },
    ]);
    const onSecond = engine.containers;
    const first = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'first' });
    await first.ready;
    const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
    await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('half done'));
    const before = await installation.store.sandboxes.ofConversation(chat.id);
    await first.kill();

    await installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'second', DOCKER_HOST: engine.host }).ready;
    expect(await chat.reply()).toBe('Over.');
    const [unknown, log] = await resultsOf(chat);
    expect(unknown?.['text']).toContain('It is not known whether this call took effect');
    expect(log).toMatchObject({ stdout: 'no log\n' });
    const lost = await untilEvent(chat, ({ type, data }) => type === 'sandbox.changed' && data.tier === 'lost');
    expect(lost.data).toMatchObject({
      from: 'running',
      lost: expect.stringMatching(/^its host "first" has not been heard of since \d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(
      (await chat.transcript()).some(
        ({ entry }) => entry.role === 'note' && entry.text.startsWith('The sandbox was started anew: its host "first" has not been heard of since '),
      ),
    ).toBe(true);
    const after = await installation.store.sandboxes.ofConversation(chat.id);
    expect(after).toMatchObject({ hostId: 'second', state: expect.stringMatching(/^(running|frozen)$/) });
    expect(after!.fence).toBeGreaterThan(before!.fence);
    // Its command runs on there; nothing of it counts.
    expect(await installation.containers()).toEqual([before!.containerName]);
    expect(await onSecond()).toEqual([after!.containerName]);

    const back = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'first' });
    await back.ready;
    await until(async () => (await installation.containers()).length + (await installation.volumes()).length === 0, 'the first host has removed what it had');
    expect(await onSecond()).toEqual([after!.containerName]);
    await back.stop();
    await chat.close();
    await until(async () => (await onSecond()).length === 0, 'the sandbox is gone with its conversation');
  },
  600_000,
);

testWithTwoEngines(
  titled('a host that reaches Temporal, but not Postgres, is given up as well: its conversation goes on elsewhere while its worker runs'),
  async () => {
    await using engine = await secondEngine();
    await using installation = await install([
      { call: 'shell:run', with: { command: 'echo kept > note; cat note' }, expect: { stdout: 'kept\n' } },
      { say: 'First.' },
      { call: 'shell:run', with: { command: 'cat note || echo no note' }, expect: { stdout: 'no note\n' } },
      { say: 'Second.' },
    ]);
    const database = new URL(installation.environment['DATABASE_URL'] ?? '');
    await using way = await openWay(() => ({ host: database.hostname, port: Number(database.port) }));
    const through = new URL(database);
    through.host = `127.0.0.1:${way.port}`;
    const first = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'first', DATABASE_URL: through.href });
    await first.ready;
    const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
    expect(await chat.reply()).toBe('First.');
    const second = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'second', DOCKER_HOST: engine.host });
    await second.ready;

    way.cut();
    await chat.send('Go on.');
    expect(await chat.reply()).toBe('Second.');
    expect(await installation.store.sandboxes.ofConversation(chat.id)).toMatchObject({ hostId: 'second' });
    expect(await installation.containers()).toHaveLength(1);
    way.heal();
    await until(async () => (await installation.containers()).length + (await installation.volumes()).length === 0, 'the first host has removed what it had');
    await chat.close();
    await until(async () => (await engine.containers()).length === 0, 'the sandbox is gone with its conversation');
    expect([await first.stop(), await second.stop()]).toEqual([0, 0]);
  },
  600_000,
);
