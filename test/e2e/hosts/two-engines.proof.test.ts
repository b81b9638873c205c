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
