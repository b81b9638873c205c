import { install, resultsOf, until, untilEvent } from '../support.ts';
import { LOST, secondEngine, testWithTwoEngines, titled } from './second-engine.ts';

testWithTwoEngines(
  titled('with backups, the files of the last turn are on the other engine, and the conversation says of when they are and since when the host is lost'),
  async () => {
    await using engine = await secondEngine();
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
