import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createActivities } from '../../src/activities/create-activities.ts';
import { defineAgent } from '../../src/definitions/agents/define-agent.ts';
import type { ExecuteToolArgs } from '../../src/contracts/activities.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { createModels } from '../../src/models/create-models.ts';
import { BUILTIN_PLUGINS } from '../../src/plugins/builtin/builtin-plugins.ts';
import { createPluginServices } from '../../src/plugins/load/create-plugin-services.ts';
import { createRegistry } from '../../src/plugins/registry/registry.ts';
import { createTestSandboxes } from '../sandbox/lifecycle/support.ts';
import { newCall, newConversation, silent } from '../store/support.ts';
import { install, resultsOf, until, untilEvent } from './support.ts';

/** A way to Temporal that can be cut: nothing gets through, and the server sees the connections closed. */
async function openCuttableWay(): Promise<{ address: string; cut(): void; mend(): void } & AsyncDisposable> {
  const target = new URL(`tcp://${process.env['TEMPORAL_ADDRESS']}`);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((from) => {
    if (isCut) {
      from.destroy();
      return;
    }
    const to = connect({ host: target.hostname, port: Number(target.port) });
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    mend() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

test('a worker cut off until its call was given to another, and let back in: both have the call, which takes effect once and gets one result', async () => {
  await using way = await openCuttableWay();
  await using installation = await install([
    {
      call: 'shell:run',
      with: { command: 'echo run >> runs; echo begun; until [ -e go ]; do sleep 0.05; done; echo passed; cat runs' },
      expect: { exitCode: 0 },
    },
    { call: 'shell:run', with: { command: 'cat runs' }, expect: { exitCode: 0 } },
    { say: 'Over.' },
  ]);
  installation.environment['TEMPORAL_ADDRESS'] = way.address;
  await installation.startWorker().ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  const { data } = await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('begun'));
  const claims = async () => (await installation.store.toolCalls.get(data['callId'] as string))?.fence;
  expect(await claims()).toBe(1);

  way.cut();
  installation.environment['TEMPORAL_ADDRESS'] = process.env['TEMPORAL_ADDRESS'];
  await installation.startWorker().ready;
  await until(async () => (await claims()) === 2, 'the second worker has the call');
  way.mend();
  const [container = ''] = await installation.containers();
  await runCommand('docker', ['exec', '--user', 'user', container, 'touch', '/home/user/go']);

  expect(await chat.reply()).toBe('Over.');
  expect(await resultsOf(chat)).toMatchObject([{ stdout: 'begun\npassed\nrun\n' }, { stdout: 'run\n' }]);
  expect((await chat.transcript()).map(({ entry }) => entry.role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant']);
  const events = await installation.store.events.read(chat.id, 0);
  const ofCall = (wanted: string) => events.filter(({ type, data: { callId } }) => type === wanted && callId === data['callId']);
  expect(ofCall('tool.started')).toHaveLength(1);
  expect(ofCall('tool.finished')).toHaveLength(1);
  await chat.close();
}, 400_000);

test('two workers that run one call at the same moment start its command once and store one result, call after call', async () => {
  await using parts = await createTestSandboxes();
  const { store } = parts;
  const conversationId = await newConversation(store, { agentId: 'racer' });
  const agents = new Map([['racer', defineAgent({ id: 'racer', model: 'scripted/none.yaml', instructions: 'Race.', tools: ['*'] })]]);
  const shared = {
    store,
    agents,
    log: silent,
    registry: createRegistry(BUILTIN_PLUGINS),
    services: createPluginServices({}),
    startConversation: () => Promise.reject(new Error('nothing is started here')),
    forks: { tell: async () => undefined },
    questions: { tell: async () => undefined },
    places: { limits: {}, tell: async () => undefined },
    subAgents: {
      start: async () => undefined,
      send: async () => undefined,
      close: async () => undefined,
      pause: async () => undefined,
      resume: async () => undefined,
      tellParent: async () => undefined,
      tellOfPlace: async () => undefined,
    },
    models: createModels({ readEnvironment: () => undefined, log: silent }),
  };
  const workers = [parts.sandboxes, parts.another()].map((sandboxes) => createActivities({ ...shared, sandboxes }));
  const execute = (args: ExecuteToolArgs) =>
    workers.map((worker) => new MockActivityEnvironment().run((given: ExecuteToolArgs) => worker.default(given), args));
  const rounds = Array.from({ length: 10 }, (_, round) => round);
  for (const round of rounds) {
    const call = await newCall(store, conversationId, { tool: 'shell:run', arguments: { command: `echo ${round} >> log; sleep 0.0${round}; cat log` } });
    const args = { ...call, agentId: 'racer', userId: 'user-1', tenantId: 'default', timeoutMs: 60_000, needsSandbox: true };
    const ends = await Promise.allSettled(execute(args));
    const losers = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
    // The attempt that is overtaken retries later; one of the two always has the result.
    for (const loser of losers) expect(loser).toMatchObject({ type: 'DETACHED', nonRetryable: false });
    expect(losers.length).toBeLessThan(2);
    const [first, second] = await Promise.all(execute(args));
    expect([first, second]).toMatchObject([{ outcome: 'finished', isError: false }, first]);
    const { content } = (await store.toolCalls.get(call.callId))!;
    const text = content?.[0]?.type === 'text' ? content[0].text : '';
    expect(JSON.parse(text)).toMatchObject({
      stdout: rounds
        .slice(0, round + 1)
        .map((line) => `${line}\n`)
        .join(''),
    });
  }
  expect((await store.transcript.read(conversationId)).map(({ entry }) => entry.role)).toEqual(rounds.map(() => 'tool'));
  const types = (await store.events.read(conversationId, 0)).map(({ type }) => type);
  expect(types.filter((type) => type === 'tool.started')).toHaveLength(rounds.length);
  expect(types.filter((type) => type === 'tool.finished')).toHaveLength(rounds.length);
}, 300_000);
