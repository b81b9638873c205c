import { runLine } from '../../cli/support.ts';
import { mustRun } from '../../../src/platform/run-command.ts';
import { ON_HOST } from '../../../src/store/sandbox-rows.ts';
import { installAgents, resultsOf, until, untilEvent, type Installation, type WorkerProcess } from '../support.ts';
import { LOST, missing, secondEngine, testWithTwoEngines, titled } from './second-engine.ts';
import { startedOn } from './started-on.ts';

const CONVERSATIONS = 20;
const CALLS = 3;
const HOSTS = ['first', 'second'] as const;

const run = (command: string, timeoutSeconds = 60) => ({ call: 'shell:run', with: { command, timeoutSeconds } });

let engine: Awaited<ReturnType<typeof secondEngine>>;
let installation: Installation;
const workers = new Map<string, WorkerProcess>();

/** Both poll the one task queue of the installation. */
async function startOn(host: (typeof HOSTS)[number]): Promise<void> {
  const worker = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: host, ...(host === 'second' && { DOCKER_HOST: engine.host }) });
  workers.set(host, worker);
  await worker.ready;
}

const rowOf = async (id: string) => (await installation.store.sandboxes.ofConversation(id))!;
const onHost = (hostId: string) => installation.store.sandboxes.list({ hostId, states: ON_HOST });
const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });

describe('two workers with an engine each, on one task queue', () => {
  beforeAll(async () => {
    if (missing !== undefined) return;
    engine = await secondEngine();
    installation = await installAgents({
      counting: { steps: [...Array.from({ length: CALLS }, () => run('echo x >> /home/user/log; wc -l < /home/user/log')), { say: 'Over.' }] },
      family: {
        checkpoints: 'turn',
        agents: {
          adder: { agent: 'adder', description: 'Works.', sandbox: 'shared' },
          copier: { agent: 'copier', description: 'Works.', sandbox: 'fork' },
        },
        steps: [
          run('echo parent > /home/user/note'),
          { calls: ['adder', 'copier'].map((agent) => ({ call: 'agents:run', with: { agent, task: 'Work.' } })) },
          run('cat /home/user/note'),
          { say: 'Done.' },
          run('echo again >> /home/user/note; cat /home/user/note'),
          { say: 'Again.' },
        ],
      },
      adder: { steps: [run('echo added >> /home/user/note'), { say: 'Added.' }] },
      copier: { steps: [run('echo copied >> /home/user/note'), { say: 'Copied.' }] },
      going: { steps: [run('echo kept > /home/user/kept'), { say: 'First.' }, run('cat /home/user/kept'), { say: 'Second.' }] },
      dying: {
        steps: [run('true'), { say: 'First.' }, run('echo half done; sleep 1000', 1200), run('cat /home/user/kept || echo nothing'), { say: 'Second.' }],
      },
      busy: {
        steps: [run('true'), { say: 'First.' }, run('echo begun; while [ ! -e /tmp/go ]; do sleep 0.2; done; echo ended', 600), { say: 'Second.' }],
      },
    });
    await Promise.all(HOSTS.map(startOn));
  }, 300_000);
  afterAll(async () => {
    if (missing !== undefined) return;
    await installation[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  testWithTwoEngines(
    titled(`${CONVERSATIONS} conversations with ${CALLS} calls each: every call works, each in the sandbox of its conversation, and both hosts have some`),
    async () => {
      const chats = await Promise.all(Array.from({ length: CONVERSATIONS }, () => start('counting')));
      expect(await Promise.all(chats.map((chat) => chat.reply()))).toEqual(chats.map(() => 'Over.'));
      const results = await Promise.all(chats.map(resultsOf));
      expect(results.map((calls) => calls.map(({ exitCode, stdout }) => [exitCode, stdout]))).toEqual(
        chats.map(() => Array.from({ length: CALLS }, (_, index) => [0, `${index + 1}\n`])),
      );
      const used = await Promise.all(chats.map(async ({ id }) => (await rowOf(id)).hostId));
      expect(new Set(used)).toEqual(new Set(HOSTS));
      for (const chat of chats) await chat.close();
      await until(async () => (await onHost('first')).length + (await onHost('second')).length === 0, 'the sandboxes are gone with their conversations');
      await until(async () => (await installation.containers()).length + (await engine.containers()).length === 0, 'nothing of them is left');
    },
    900_000,
  );

  testWithTwoEngines(
    titled('sub-agents in the sandbox of their parent or a copy of it, checkpoints, forks and rests work on whichever host the sandbox is'),
    async () => {
      const chats = await Promise.all(Array.from({ length: 6 }, () => start('family')));
      expect(await Promise.all(chats.map((chat) => chat.reply()))).toEqual(chats.map(() => 'Done.'));
      const forks = await Promise.all(chats.map((chat) => chat.fork({ message: 'Go on.' })));
      expect(await Promise.all(forks.map((fork) => fork.reply()))).toEqual(forks.map(() => 'Again.'));
      for (const chat of forks) expect((await resultsOf(chat)).at(-1)).toMatchObject({ exitCode: 0, stdout: 'parent\nadded\nagain\n' });
      for (const chat of chats) {
        expect((await resultsOf(chat)).at(-1)).toMatchObject({ stdout: 'parent\nadded\n' });
        expect(await chat.checkpoints()).toHaveLength(1);
      }
      for (const chat of [...chats, ...forks]) await chat.close();
      await until(async () => (await installation.containers()).length + (await engine.containers()).length === 0, 'nothing of them is left');
    },
    900_000,
  );

  testWithTwoEngines(
    titled('a host that is drained: an idle sandbox goes at once, one in use at the end of its command, and both go on elsewhere with their files'),
    async () => {
      const [idle, busy] = [await startedOn(installation, 'first', 'going'), await startedOn(installation, 'first', 'busy')];
      await busy.send('Go on.');
      await untilEvent(busy, ({ type, data }) => type === 'tool.output' && data.text.includes('begun'));
      const environment = { ...installation.environment, ...LOST };
      const draining = runLine(undefined, ['hosts', 'drain', 'first'], { environment });
      await until(async () => (await rowOf(idle.id)).state === 'archived', 'the idle sandbox is moved');
      expect(await rowOf(busy.id)).toMatchObject({ hostId: 'first', state: 'running' });
      await idle.send('Go on.');
      await until(async () => (await rowOf(idle.id)).hostId === 'second', 'it is brought back on the other host');
      expect(await idle.reply()).toBe('Second.');
      expect((await resultsOf(idle)).at(-1)).toMatchObject({ exitCode: 0, stdout: 'kept\n' });

      // A worker that is killed goes on with it.
      await workers.get('first')!.kill();
      await startOn('first');
      const { containerName } = await rowOf(busy.id);
      await mustRun('Ending the command', 'docker', ['exec', containerName, 'touch', '/tmp/go'], { fix: 'See the engine' });
      expect(await busy.reply()).toBe('Second.');
      expect((await resultsOf(busy)).at(-1)).toMatchObject({ exitCode: 0, stdout: 'begun\nended\n' });
      const { code, out } = await draining;
      expect(code).toBe(0);
      expect(out).toMatch(/\d+ of \d+ moved; left: .*\(a call of conv_\w+ runs\)/);
      expect(out).toContain('Nothing is left on host "first". It takes no sandboxes until: longshore hosts resume first\n');
      expect(await onHost('first')).toEqual([]);
      await until(async () => (await installation.containers()).length + (await installation.volumes()).length === 0, 'its engine has nothing of them');

      const fresh = await start('going');
      await fresh.reply();
      expect(await rowOf(fresh.id)).toMatchObject({ hostId: 'second' });
      expect((await runLine(undefined, ['hosts', 'resume', 'first'], { environment })).code).toBe(0);
      for (const chat of [idle, busy, fresh]) await chat.close();
    },
    900_000,
  );

  testWithTwoEngines(
    titled('a host whose only worker is killed in the middle of a command: the call is unknown, and the conversation goes on on the other one'),
    async () => {
      const chat = await startedOn(installation, 'second', 'dying');
      await chat.send('Go on.');
      await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('half done'));
      await workers.get('second')!.kill();
      expect(await chat.reply()).toBe('Second.');
      const [, unknown, next] = await resultsOf(chat);
      expect(unknown?.['text']).toContain('It is not known whether this call took effect');
      expect(next).toMatchObject({ exitCode: 0, stdout: 'nothing\n' });
      expect(await rowOf(chat.id)).toMatchObject({ hostId: 'first' });
      await chat.close();
    },
    600_000,
  );
});
