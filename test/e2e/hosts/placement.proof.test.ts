import { Client, Connection } from '@temporalio/client';
import { loadConfig } from '../../../src/platform/config.ts';
import { say } from '../forks/talk.ts';
import { runLine } from '../../cli/support.ts';
import { ownTemplates } from '../../support/own-templates.ts';
import { installAgents, resultsOf, until, type Installation } from '../support.ts';
import { LOST, missing, secondEngine, testWithTwoEngines, titled } from './second-engine.ts';
import { startedOn } from './started-on.ts';

const run = (command: string) => ({ call: 'shell:run', with: { command } });
const NEAR = { hostLabels: ['gpu', 'zone=a'] };

let engine: Awaited<ReturnType<typeof secondEngine>>;
let installation: Installation;
let templates: AsyncDisposable;

const rowOf = async (id: string) => (await installation.store.sandboxes.ofConversation(id))!;
const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });
const line = async (...args: string[]) => runLine(installation.longshore, args, { environment: { ...installation.environment, ...LOST } });
const outputs = async (chat: Awaited<ReturnType<typeof start>>) => (await resultsOf(chat)).map(({ stdout }) => stdout);

/** Why the last attempt at the activity of a conversation has failed. */
async function failureOf(conversationId: string): Promise<string> {
  const connection = await Connection.connect({ address: loadConfig().TEMPORAL_ADDRESS });
  try {
    const { raw } = await new Client({ connection }).workflow.getHandle(conversationId).describe();
    return raw.pendingActivities?.[0]?.lastFailure?.message ?? '';
  } finally {
    await connection.close();
  }
}

async function resume(host: string): Promise<void> {
  expect((await line('hosts', 'resume', host)).code).toBe(0);
  // A worker learns of it with its next beat.
  await until(async () => (await installation.store.fleet.candidates({ sandboxId: 'sbx_none' }, 60_000)).some(({ hostId }) => hostId === host), 'it is back');
}

describe('two workers with an engine each; the one on the second has the labels gpu and zone=a', () => {
  beforeAll(async () => {
    if (missing !== undefined) return;
    templates = await ownTemplates({ placed: 'setup: ["mkdir -p /home/user && echo built > /home/user/of-image"]\n' });
    engine = await secondEngine();
    const note = [
      run('echo one > note; cat note'),
      { say: 'First.' },
      run('echo two >> note; cat note'),
      { say: 'Second.' },
      run('cat note'),
      { say: 'Third.' },
    ];
    installation = await installAgents({
      plain: { steps: note, checkpoints: 'turn' },
      near: { sandbox: NEAR, steps: note },
      nowhere: { sandbox: { hostLabels: ['tpu'] }, steps: [run('true'), { say: 'Over.' }] },
      parent: {
        agents: { copier: { agent: 'copier', description: 'Works.', sandbox: 'fork' } },
        steps: [run('echo parent > note'), { call: 'agents:run', with: { agent: 'copier', task: 'Work.' } }, { say: 'Done.' }],
      },
      copier: { sandbox: NEAR, steps: [run('cat note; echo copied >> note; cat note'), { say: 'Copied.' }] },
      built: {
        sandbox: { template: 'placed' },
        steps: [run('cat of-image; echo kept > kept'), { say: 'First.' }, run('cat of-image kept'), { say: 'Second.' }],
      },
    });
    const workers = [
      installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'first' }),
      installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'second', DOCKER_HOST: engine.host, LONGSHORE_HOST_LABELS: 'zone=a, gpu' }),
    ];
    await Promise.all(workers.map(({ ready }) => ready));
  }, 300_000);
  afterAll(async () => {
    if (missing !== undefined) return;
    await installation[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
    await templates[Symbol.asyncDispose]();
  });

  testWithTwoEngines(
    titled('sandboxes that ask for labels are made where these are, others on both; labels that nobody has fail the call, which says so'),
    async () => {
      const [near, plain] = await Promise.all(['near', 'plain'].map((agent) => Promise.all(Array.from({ length: 8 }, () => start(agent)))));
      await Promise.all([...near!, ...plain!].map((chat) => chat.reply()));
      const hostsOf = async (chats: typeof near) => new Set(await Promise.all(chats!.map(async ({ id }) => (await rowOf(id)).hostId)));
      expect(await hostsOf(near)).toEqual(new Set(['second']));
      expect(await hostsOf(plain)).toEqual(new Set(['first', 'second']));
      const refused = await start('nowhere');
      expect(await refused.reply()).toBe('Over.');
      expect((await resultsOf(refused))[0]?.['text']).toContain('needs: the label tpu. The hosts have: the labels gpu, zone=a. Start a worker');
      expect((await line('sandbox', 'show', near![0]!.id)).out).toContain('only on hosts with the labels gpu and zone=a');
      for (const chat of [...near!, ...plain!, refused]) await chat.close();
    },
    300_000,
  );

  testWithTwoEngines(
    titled('while the one host with the labels is drained, a new and an archived sandbox wait for it, and go on when it is back'),
    async () => {
      const before = await start('near');
      await before.reply();
      expect((await line('hosts', 'drain', 'second')).code).toBe(0);
      expect(await rowOf(before.id)).toMatchObject({ state: 'archived' });
      const fresh = await start('near');
      await before.send('Go on.');
      for (const { id } of [fresh, before]) await until(async () => (await failureOf(id)).includes('"second" is being drained'), 'its call waits for the host');
      await resume('second');
      expect(await fresh.reply()).toBe('First.');
      expect(await before.reply()).toBe('Second.');
      expect(await outputs(before)).toEqual(['one\n', 'one\ntwo\n']);
      for (const chat of [fresh, before]) {
        expect(await rowOf(chat.id)).toMatchObject({ hostId: 'second' });
        await chat.close();
      }
    },
    300_000,
  );

  testWithTwoEngines(
    titled('a copy for a sub-agent that asks for labels is made beside its source, and goes to a host that has them before it is used'),
    async () => {
      const chat = await startedOn(installation, 'first', 'parent');
      const results = await resultsOf(chat);
      expect(JSON.stringify(results)).toContain('Copied.');
      const rows = await installation.store.sandboxes.list({ states: ['running', 'frozen', 'archived', 'stopped', 'destroyed'] });
      expect(rows.filter(({ options }) => 'hostLabels' in options).map(({ hostId }) => hostId)).toContain('second');
      await chat.close();
    },
    300_000,
  );

  testWithTwoEngines(
    titled('an archive of a sandbox comes back on the other host, and so do forks of it: of now, of then, and of the archive'),
    async () => {
      const chat = await startedOn(installation, 'first', 'plain');
      const { turnId: first } = (await chat.transcript())[0]!;
      expect(await say(chat)).toBe('Second.');
      expect((await line('hosts', 'drain', 'first')).code).toBe(0);
      expect(await rowOf(chat.id)).toMatchObject({ state: 'archived' });
      const forks = await Promise.all([chat.fork({ message: 'On.' }), chat.fork({ at: first, message: 'On.' })]);
      expect(await Promise.all(forks.map((fork) => fork.reply()))).toEqual(['Third.', 'Second.']);
      expect((await outputs(forks[0])).at(-1)).toBe('one\ntwo\n');
      expect((await outputs(forks[1])).at(-1)).toBe('one\ntwo\n');
      await chat.send('Go on.');
      await until(async () => (await rowOf(chat.id)).hostId === 'second', 'it is brought back there');
      expect(await chat.reply()).toBe('Third.');
      expect((await outputs(chat)).at(-1)).toBe('one\ntwo\n');
      const later = await chat.fork({ at: first, message: 'On.' });
      expect(await later.reply()).toBe('Second.');
      expect((await outputs(later)).at(-1)).toBe('one\ntwo\n');
      for (const one of [...forks, later, chat]) {
        expect(await rowOf(one.id)).toMatchObject({ hostId: 'second' });
        await one.close();
      }
      await resume('first');
    },
    300_000,
  );

  testWithTwoEngines(
    titled('the image of a template is built on each engine from its definition; a sandbox that moves goes on in it'),
    async () => {
      const chat = await startedOn(installation, 'first', 'built');
      expect(await outputs(chat)).toEqual(['built\n']);
      expect((await line('hosts', 'drain', 'first')).code).toBe(0);
      await chat.send('Go on.');
      expect(await chat.reply()).toBe('Second.');
      expect((await outputs(chat)).at(-1)).toBe('built\nkept\n');
      expect(await rowOf(chat.id)).toMatchObject({ hostId: 'second' });
      await resume('first');
      await chat.close();
    },
    300_000,
  );
});
