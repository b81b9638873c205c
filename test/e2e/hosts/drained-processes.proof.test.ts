import { loadConfig } from '../../../src/platform/config.ts';
import { ensureGvisorScript } from '../../../src/setup/gvisor-script.ts';
import { runLine } from '../../cli/support.ts';
import { install, resultsOf } from '../support.ts';
import { LOST, missing, secondEngine, titled } from './second-engine.ts';

/** The engine of the environment and the second one have the same gVisor. */
const testWithGvisor = missing === undefined && process.env['LONGSHORE_TEST_GVISOR'] === 'yes' ? test : test.skip;
const count = { call: 'code:run', with: { language: 'python', context: 'main', code: "count = globals().get('count', 0) + 1\nprint(f'count={count}')" } };

testWithGvisor(
  titled('in gVisor, a host that is drained moves processes, too: an interpreter goes on counting on the other engine'),
  async () => {
    const { script } = await ensureGvisorScript(loadConfig().LONGSHORE_HOME);
    await using engine = await secondEngine({ runsc: script });
    await using installation = await install([count, { say: 'One.' }, count, count, { say: 'Three.' }], {
      tools: ['code:*'],
      sandbox: { runtime: 'runsc' },
    });
    const settings = { ...LOST, LONGSHORE_COPY_CHECKPOINTS: 'yes' };
    await installation.startWorker({ ...settings, LONGSHORE_HOST_ID: 'first' }).ready;
    const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Count.' });
    expect(await chat.reply()).toBe('One.');
    await installation.startWorker({ ...settings, LONGSHORE_HOST_ID: 'second', DOCKER_HOST: engine.host }).ready;

    const { code, out } = await runLine(undefined, ['hosts', 'drain', 'first'], { environment: { ...installation.environment, ...LOST } });
    expect(code).toBe(0);
    expect(out).toContain('Nothing is left on host "first".');
    expect(await installation.store.sandboxes.ofConversation(chat.id)).toMatchObject({ state: 'archived' });
    await chat.send('Go on.');
    expect(await chat.reply()).toBe('Three.');
    expect(await installation.store.sandboxes.ofConversation(chat.id)).toMatchObject({ hostId: 'second' });
    const printed = (await resultsOf(chat)).map((result) => /count=\d+/.exec(JSON.stringify(result))?.[0]);
    expect(printed).toEqual(['count=1', 'count=2', 'count=3']);
    await chat.close();
  },
  600_000,
);
