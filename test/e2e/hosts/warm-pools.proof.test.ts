import { runCommand } from '../../../src/platform/run-command.ts';
import { runLine } from '../../cli/support.ts';
import { ownTemplates } from '../../support/own-templates.ts';
import { installAgents, resultsOf, until, type Installation, type WorkerProcess } from '../support.ts';
import { LOST, missing, secondEngine, testWithTwoEngines, titled } from './second-engine.ts';

const LOST_MS = 30_000;
/** Longer than a worker may not know that its host is drained, and longer than the time between two looks at its pools. */
const SETTLED_MS = 20_000;
const REAPED_MS = 61_000;
/** A worker that was killed owns its pools for a minute after it has last renewed that. */
const OWNED_MS = 61_000;
const TEST_MS = 300_000;

let engine: Awaited<ReturnType<typeof secondEngine>>;
let installation: Installation;
let templates: AsyncDisposable;
const workers = new Map<string, WorkerProcess>();
let killedAtMs = 0;

async function kill(host: 'first' | 'second'): Promise<void> {
  await workers.get(host)!.kill();
  killedAtMs = Date.now();
}

async function begin(host: 'first' | 'second'): Promise<void> {
  const worker = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: host, ...(host === 'second' && { DOCKER_HOST: engine.host }) });
  workers.set(host, worker);
  await worker.ready;
}

const warmOn = async (hostId: string) => (await installation.store.sandboxes.list({ hostId, states: ['warm'] })).map(({ sandboxId }) => sandboxId);
const untilWarm = (...hosts: string[]) =>
  until(async () => (await Promise.all(hosts.map(warmOn))).every(({ length }) => length === 1), `each of ${hosts.join(', ')} has a warm sandbox`);
const line = (...args: string[]) => runLine(installation.longshore, args, { environment: { ...installation.environment, ...LOST } });
const hostOf = async (id: string) => (await installation.store.fleet.hosts(LOST_MS, id))[0];

/** A conversation that has used its sandbox; with the row of that, and the warm sandboxes that were there before. */
async function converse() {
  const before = { first: await warmOn('first'), second: await warmOn('second') };
  const chat = await installation.longshore.start({ agent: 'warm', user: 'user-1', message: 'Begin.' });
  expect(await chat.reply()).toBe('Done.');
  expect(await resultsOf(chat)).toMatchObject([{ stdout: 'works\n' }]);
  const { sandboxId, hostId } = (await installation.store.sandboxes.ofConversation(chat.id))!;
  return { chat, before, sandboxId, hostId };
}

async function drain(host: string): Promise<void> {
  expect(await line('hosts', 'drain', host)).toMatchObject({ code: 0, out: expect.stringContaining(`Nothing is left on host "${host}"`) });
  expect(await warmOn(host)).toEqual([]);
}

/** A host that has no warm sandbox, and takes sandboxes: that lasts until its worker looks at its pools. */
async function emptied(host: string): Promise<void> {
  await drain(host);
  expect((await line('hosts', 'resume', host)).code).toBe(0);
}

const namesOn = (docker: string[], what: string[]) => async () => {
  const filter = ['--filter', `label=longshore.installation=${installation.name}`];
  return (await runCommand('docker', [...docker, ...what, ...filter])).stdout.split('\n').filter(Boolean);
};
const containersOn = (docker: string[] = []) => namesOn(docker, ['ps', '--all', '--format', '{{.Names}}'])();
const volumesOn = (docker: string[] = []) => namesOn(docker, ['volume', 'ls', '--format', '{{.Name}}'])();

describe('two hosts with an engine each, and a template of which each keeps one sandbox warm', () => {
  beforeAll(async () => {
    if (missing !== undefined) return;
    templates = await ownTemplates({ small: 'memoryMb: 200\npool: 1\n' });
    engine = await secondEngine();
    installation = await installAgents({
      warm: { sandbox: { template: 'small' }, steps: [{ call: 'shell:run', with: { command: 'echo works' } }, { say: 'Done.' }] },
    });
    await Promise.all([begin('first'), begin('second')]);
    await untilWarm('first', 'second');
  }, TEST_MS);
  afterAll(async () => {
    if (missing !== undefined) return;
    await installation[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
    await templates[Symbol.asyncDispose]();
  });

  testWithTwoEngines(
    titled('a conversation takes a warm sandbox, and the host that it was on makes the next one'),
    async () => {
      for (let round = 1; round <= 4; round += 1) {
        const { chat, before, sandboxId, hostId } = await converse();
        expect(before[hostId as keyof typeof before]).toEqual([sandboxId]);
        await untilWarm('first', 'second');
        expect(await warmOn(hostId)).not.toEqual([sandboxId]);
        expect(await warmOn(hostId === 'first' ? 'second' : 'first')).toEqual(before[hostId === 'first' ? 'second' : 'first']);
        await chat.close();
      }
    },
    TEST_MS,
  );

  testWithTwoEngines(
    titled('where one host has a warm sandbox and the other has none, a conversation takes that one'),
    async () => {
      for (const [empty, other] of [
        ['first', 'second'],
        ['second', 'first'],
      ] as const) {
        for (;;) {
          await untilWarm(other);
          await emptied(empty);
          const { chat, before, sandboxId, hostId } = await converse();
          await chat.close();
          // Otherwise its worker was faster, and the host had a warm sandbox as well.
          if (before[empty].length + (await warmOn(empty)).length > 0) continue;
          expect({ hostId, sandboxId }).toEqual({ hostId: other, sandboxId: before[other][0] });
          break;
        }
        await untilWarm('first', 'second');
      }
    },
    TEST_MS,
  );

  testWithTwoEngines(
    titled('a host that is drained removes its warm sandboxes, and makes none until it is resumed'),
    async () => {
      await drain('second');
      expect(await containersOn(['--host', engine.host])).toEqual([]);
      const { chat, before, sandboxId, hostId } = await converse();
      expect({ hostId, sandboxId }).toEqual({ hostId: 'first', sandboxId: before.first[0] });
      await until(async () => {
        const { heardAt = '', drainingSince = '' } = (await hostOf('second')) ?? {};
        return Date.parse(heardAt) - Date.parse(drainingSince) > SETTLED_MS;
      }, 'its worker has looked at its pools');
      expect(await warmOn('second')).toEqual([]);
      expect(await containersOn(['--host', engine.host])).toEqual([]);
      expect((await line('hosts', 'resume', 'second')).code).toBe(0);
      await untilWarm('first', 'second');
      await chat.close();
    },
    TEST_MS,
  );

  testWithTwoEngines(
    titled('of a host that died, no warm sandbox is given away; when it is back, it has one that works'),
    async () => {
      await emptied('first');
      const lost = await warmOn('second');
      await kill('second');
      await engine.end('SIGKILL');
      const meanwhile = await converse();
      expect(meanwhile.hostId).toBe('first');
      expect(lost).not.toContain(meanwhile.sandboxId);
      await untilWarm('first');
      expect((await hostOf('second'))?.isThere).toBe(false);

      await engine.start({ liveRestore: false });
      await begin('second');
      await drain('first');
      await untilWarm('second');
      const { chat, hostId, sandboxId } = await converse();
      expect({ hostId, sandboxId }).toEqual({ hostId: 'second', sandboxId: expect.stringMatching(/^sbx_warm_/) });
      expect((await line('hosts', 'resume', 'first')).code).toBe(0);
      await untilWarm('first', 'second');
      await Promise.all([chat.close(), meanwhile.chat.close()]);
    },
    TEST_MS,
  );

  testWithTwoEngines(
    titled('a host that is gone for good can be removed with its warm sandboxes; if it comes back all the same, it removes them and makes others'),
    async () => {
      const [warm] = await warmOn('second');
      const onSecond = ['--host', engine.host];
      await until(async () => (await volumesOn(onSecond)).length === 1, 'what conversations had there is removed');
      await kill('second');
      await until(async () => (await hostOf('second'))?.isThere === false, 'the host is silent');
      expect(await warmOn('second')).toEqual([warm]);
      expect(await line('hosts', 'remove', 'second')).toEqual({ code: 0, out: 'Host "second" is removed.\n', err: '' });
      expect(await warmOn('second')).toEqual([]);
      const [old = ''] = await containersOn(onSecond);
      // The reaper leaves alone what is younger.
      const { stdout: created } = await runCommand('docker', [...onSecond, 'inspect', '--format', '{{.Created}}', old]);
      await until(async () => Date.now() - Date.parse(created.trim()) > REAPED_MS, 'its warm sandbox is old enough to be removed');
      await begin('second');
      await untilWarm('second');
      expect(await warmOn('second')).not.toEqual([warm]);
      await until(async () => !(await containersOn(onSecond)).includes(old), 'its old warm sandbox is removed');
    },
    TEST_MS,
  );

  testWithTwoEngines(
    titled('when all workers have stopped, nothing is left on either engine'),
    async () => {
      await until(async () => Date.now() - killedAtMs > OWNED_MS, 'no worker that was killed owns a pool');
      for (const worker of workers.values()) expect(await worker.stop()).toBe(0);
      const states = ['creating', 'warm', 'running', 'frozen', 'hibernated', 'stopped', 'archived', 'lost'] as const;
      const places = [[], ['--host', engine.host]];
      const left = async () => [
        ...(await installation.store.sandboxes.list({ states: [...states] })).map(({ sandboxId }) => sandboxId),
        ...(await Promise.all(places.flatMap((place) => [containersOn(place), volumesOn(place)]))).flat(),
      ];
      expect(await left()).toEqual([]);
    },
    TEST_MS,
  );
});
