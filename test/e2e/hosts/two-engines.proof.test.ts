import { createOwnEngine } from '../../../scripts/own-engine.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { install, resultsOf, until, untilEvent } from '../support.ts';

/** `DOCKERD` names another engine than the one on PATH. */
const program = process.env['DOCKERD'] ?? 'dockerd';
const missing =
  process.geteuid?.() !== 0
    ? 'only root can start a second engine'
    : (await runCommand(program, ['--version'])).code === 0
      ? undefined
      : `there is no ${program}`;
const testWithTwoEngines = missing === undefined ? test : test.skip;

const leftOut = missing === undefined ? '' : ` (left out: ${missing})`;
/** The shortest that the setting takes. */
const LOST = { LONGSHORE_HOST_LOST_AFTER: '30s' };

testWithTwoEngines(
  `a host that vanishes in the middle of a command: it is unknown, the next one runs on another engine; the old container goes when its host is back${leftOut}`,
  async () => {
    await using engine = await createOwnEngine({ program });
    await engine.start({ liveRestore: false });
    await engine.takeImage(loadConfig().LONGSHORE_SANDBOX_IMAGE);
    await using installation = await install([
      { call: 'shell:run', with: { command: 'echo started >> /home/user/log; echo half done; sleep 1000', timeoutSeconds: 1200 } },
      { call: 'shell:run', with: { command: 'cat /home/user/log || echo no log' }, expect: { exitCode: 0 } },
      { say: 'Over.' },
    ]);
    const onSecond = async () => (await runCommand('docker', ['--host', engine.host, 'ps', '--format', '{{.Names}}'])).stdout.split('\n').filter(Boolean);
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
  `with backups, the files of the last turn are on the other engine, and the conversation says of when they are and since when the host is lost${leftOut}`,
  async () => {
    await using engine = await createOwnEngine({ program });
    await engine.start({ liveRestore: false });
    await engine.takeImage(loadConfig().LONGSHORE_SANDBOX_IMAGE);
    await using installation = await install(
      [
        {
          call: 'shell:run',
          with: { command: 'mkdir -p work; echo one > work/log; head -c 3000000 /dev/urandom > bytes; sha256sum bytes > sum' },
          expect: { exitCode: 0 },
        },
        { say: 'Begun.' },
        { call: 'shell:run', with: { command: 'echo two >> work/log' }, expect: { exitCode: 0 } },
        { say: 'Gone on.' },
        { call: 'shell:run', with: { command: 'echo lost >> work/log; echo begun; sleep 1000', timeoutSeconds: 1200 } },
        { call: 'shell:run', with: { command: 'cat work/log; sha256sum -c sum' }, expect: { exitCode: 0 } },
        { say: 'Over.' },
      ],
      { sandbox: { backup: 'turn' } },
    );
    const first = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'first' });
    await first.ready;
    const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
    expect(await chat.reply()).toBe('Begun.');
    await until(async () => (await chat.status()).backup?.at !== undefined, 'the first turn is backed up');
    await chat.send('Go on.');
    expect(await chat.reply()).toBe('Gone on.');
    await until(async () => {
      const { backup } = (await installation.store.sandboxes.ofConversation(chat.id)) ?? {};
      return backup?.parts.length === 1 ? backup.parts[0]!.to > 1 : backup?.parts.length === 2;
    }, 'the second turn is backed up');
    const { backup, hostId } = (await installation.store.sandboxes.ofConversation(chat.id))!;
    expect(hostId).toBe('first');
    await chat.send('And on.');
    await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('begun'));
    await first.kill();
    await installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'second', DOCKER_HOST: engine.host }).ready;
    expect(await chat.reply()).toBe('Over.');
    const results = await resultsOf(chat);
    expect(results.at(-1)).toMatchObject({ stdout: 'one\ntwo\nbytes: OK\n' });
    const notes = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
    expect(notes).toContainEqual(
      expect.stringMatching(
        new RegExp(
          `^The sandbox was started anew: its host "first" has not been heard of since [\\dT:.-]+Z\\. Its files are gone as well; it starts with those of its backup of ${backup!.at}\\.`,
        ),
      ),
    );
    await chat.close();
  },
  600_000,
);
